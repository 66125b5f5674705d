/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/window/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/guest/text.h"

#define SECOND_NS 1000000000ull
#define LARGEST   ((uint64_t)INT64_MAX)

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{"", SECOND_NS},
	{"s", SECOND_NS},
	{"ms", SECOND_NS / 1000},
	{"us", SECOND_NS / 1000000},
	{"ns", 1},
	{"m", 60 * SECOND_NS},
	{"h", 3600 * SECOND_NS},
	{"d", 86400 * SECOND_NS},
};

/* ".25" as parts of @unit; nothing: 0. Digits beyond a ns do not count. */
static uint64_t parse_fraction(const char **text, uint64_t unit)
{
	uint64_t ns = 0;

	if (**text != '.' || !isdigit((unsigned char)(*text)[1]))
		return 0;
	for (++*text; isdigit((unsigned char)**text); ++*text) {
		unit /= 10;
		ns += unit * (uint64_t)(**text - '0');
	}
	return ns;
}

static uint64_t find_unit(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == length && !memcmp(units[i].name, text, length))
			return units[i].ns;
	return 0;
}

/* Else it is a time below a nanosecond. */
static bool is_zero(const char *text, const char *end)
{
	while (text < end && (*text == '0' || *text == '.'))
		text++;
	return text == end;
}

int gt_when_span(const char *text, const char **ret_end, uint64_t *ret_ns)
{
	const char *end, *word, *fraction;
	uint64_t whole, unit;
	int error = gt_text_parse_u64(text, &end, &whole);

	if (error)
		return error;
	fraction = word = end;
	parse_fraction(&word, SECOND_NS);
	for (end = word; isalpha((unsigned char)*end); end++)
		continue;
	unit = find_unit(word, (size_t)(end - word));
	if (!unit)
		return -EINVAL;
	if (whole >= LARGEST / unit)
		return -ERANGE;
	*ret_ns = whole * unit + parse_fraction(&fraction, unit);
	*ret_end = end;
	return *ret_ns || is_zero(text, word) ? 0 : -ERANGE;
}

/* Exactly @digits of them, then @text is behind. False: there are not. */
static bool parse_digits(const char **text, int digits, uint64_t *ret_value)
{
	*ret_value = 0;
	for (; digits; digits--, ++*text) {
		if (!isdigit((unsigned char)**text))
			return false;
		*ret_value = *ret_value * 10 + (uint64_t)(**text - '0');
	}
	return true;
}

static bool skip(const char **text, char c)
{
	bool found = **text == c;

	*text += found;
	return found;
}

/* Days from 1970-01-01 to a day of the Gregorian calendar, from 1970 on. A year begins in March
 * here: the day of the leap year is its last. */
static uint64_t days_since_1970(uint64_t year, uint64_t month, uint64_t day)
{
	uint64_t y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;
	uint64_t of_year = (153 * m + 2) / 5 + day - 1;

	return 365 * y + y / 4 - y / 100 + y / 400 + of_year - 719468;
}

static bool is_day(uint64_t year, uint64_t month, uint64_t day)
{
	static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leaps = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return year >= 1970 && month >= 1 && month <= 12 && day >= 1 &&
	       day <= days[month - 1] + (uint64_t)(leaps && month == 2);
}

/* "2026-11-23T10:00": s since 1970 at the beginning of the day. */
static int parse_day(const char **text, uint64_t *ret_seconds)
{
	uint64_t year, month, day;

	if (!parse_digits(text, 4, &year) || !skip(text, '-') || !parse_digits(text, 2, &month) ||
	    !skip(text, '-') || !parse_digits(text, 2, &day) ||
	    (!skip(text, 'T') && !skip(text, ' ')))
		return -EINVAL;
	if (!is_day(year, month, day))
		return -ERANGE;
	*ret_seconds = days_since_1970(year, month, day) * 86400;
	return 0;
}

static int parse_time_of_day(const char **text, uint64_t *ret_ns)
{
	uint64_t hours, minutes, seconds = 0;

	if (!parse_digits(text, 2, &hours) || !skip(text, ':') ||
	    !parse_digits(text, 2, &minutes) ||
	    (skip(text, ':') && !parse_digits(text, 2, &seconds)))
		return -EINVAL;
	if (hours > 23 || minutes > 59 || seconds > 59)
		return -ERANGE;
	*ret_ns = (hours * 3600 + minutes * 60 + seconds) * SECOND_NS +
		  parse_fraction(text, SECOND_NS);
	return 0;
}

/* Seconds that local time is ahead. */
static int parse_zone(const char **text, int64_t *ret_ahead)
{
	uint64_t hours, minutes;
	bool is_behind = **text == '-';

	*ret_ahead = 0;
	if (skip(text, 'Z'))
		return 0;
	if (!skip(text, '+') && !skip(text, '-'))
		return -EINVAL;
	if (!parse_digits(text, 2, &hours))
		return -EINVAL;
	skip(text, ':');
	if (!parse_digits(text, 2, &minutes))
		return -EINVAL;
	if (hours > 23 || minutes > 59)
		return -ERANGE;
	*ret_ahead = (int64_t)(hours * 3600 + minutes * 60) * (is_behind ? -1 : 1);
	return 0;
}

static int parse_date(const char *text, uint64_t *ret_ns)
{
	uint64_t day, time;
	int64_t ahead;
	int error = parse_day(&text, &day);

	if (!error)
		error = parse_time_of_day(&text, &time);
	if (!error)
		error = parse_zone(&text, &ahead);
	if (error || *text)
		return error ? error : -EINVAL;
	if (ahead > (int64_t)(day + time / SECOND_NS))
		return -ERANGE;
	*ret_ns = (uint64_t)((int64_t)day - ahead) * SECOND_NS + time;
	return 0;
}

static int parse_after(const char *text, uint64_t now, uint64_t *ret_ns)
{
	const char *end;
	uint64_t span;
	int error = gt_when_span(text, &end, &span);

	if (error || *end)
		return error ? error : -EINVAL;
	*ret_ns = now + span;
	return 0;
}

static int parse_seconds(const char *text, uint64_t *ret_ns)
{
	const char *end;
	uint64_t seconds;
	int error = gt_text_parse_u64(text, &end, &seconds);

	if (error)
		return error;
	if (seconds >= LARGEST / SECOND_NS)
		return -ERANGE;
	seconds = seconds * SECOND_NS + parse_fraction(&end, SECOND_NS);
	if (*end)
		return -EINVAL;
	*ret_ns = seconds;
	return 0;
}

int gt_when_moment(const char *text, uint64_t now, uint64_t *ret_ns)
{
	if (!skip(&text, '@'))
		return -EINVAL;
	if (skip(&text, '+'))
		return parse_after(text, now, ret_ns);
	if (strlen(text) > 4 && text[4] == '-')
		return parse_date(text, ret_ns);
	return parse_seconds(text, ret_ns);
}

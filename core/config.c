/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses options from the table core/config.def: in the traced process (the constructor's thread,
 * then the thread that starts the session) and in the command.
 */
#include "core/config.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/guest/memory.h"
#include "core/guest/text.h"
#include "core/window/when.h"

#define ENV_PREFIX     "GPUTRACE_"
#define ENV_PREFIX_LEN (sizeof(ENV_PREFIX) - 1)

const struct gt_option gt_options[GT_CONFIG_COUNT_] = {
#define GT_OPTION(id, long_name, kind, def, range, arg, text)                                      \
	[GT_CONFIG_##id] = {.name = long_name,                                                     \
			    .env = ENV_PREFIX #id,                                                 \
			    .type = GT_OPTION_##kind,                                              \
			    .initial = def,                                                        \
			    .values = range,                                                       \
			    .argument = arg,                                                       \
			    .help = text},
#include "core/config.def"
#undef GT_OPTION
};

/* What an option means that may stand alone. */
static const char *const bare[GT_CONFIG_COUNT_] = {
#define GT_OPTION(id, name, type, def, values, arg, help)
#define GT_OPTION_BARE(id, value) [GT_CONFIG_##id] = value,
#include "core/config.def"
#undef GT_OPTION
};

/* Variables that the wrapper and the tests use besides the options. */
static const char *const other_variables[] = {
#define GT_VARIABLE(name, help) ENV_PREFIX name,
#include "core/variables.def"
#undef GT_VARIABLE
	NULL,
};

static const struct {
	const char *word;
	int64_t value;
} bool_words[] = {{"yes", 1},   {"no", 0}, {"1", 1},   {"0", 0}, {"true", 1},
		  {"false", 0}, {"on", 1}, {"off", 0}, {"", 1}};

static int parse_bool(const char *text, int64_t *ret_value)
{
	for (size_t i = 0; i < sizeof(bool_words) / sizeof(bool_words[0]); i++) {
		if (!strcasecmp(text, bool_words[i].word)) {
			*ret_value = bool_words[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

/* Index of @text in "a|b|c". */
static int parse_enum(const char *values, const char *text, int64_t *ret_value)
{
	size_t length = strlen(text);

	for (int64_t i = 0; *values; i++) {
		size_t word = strcspn(values, "|");

		if (word == length && !memcmp(values, text, length)) {
			*ret_value = i;
			return 0;
		}
		values += word + (values[word] == '|');
	}
	return -EINVAL;
}

/* Words of "a|b|c", with commas between; the first one stands alone. Sets the bits of their places.
 */
static int parse_list(const char *values, const char *text, int64_t *ret_value)
{
	int64_t place, places = 0;
	char word[32];

	do {
		size_t length = strcspn(text, ",");

		if (length >= sizeof(word))
			return -EINVAL;
		memcpy(word, text, length);
		word[length] = 0;
		if (parse_enum(values, word, &place))
			return -EINVAL;
		places |= (int64_t)1 << place;
		text += length;
	} while (*text++ == ',');
	*ret_value = places;
	return places & 1 && places != 1 ? -EINVAL : 0;
}

static int (*const parse_value[])(const char *text, const char **ret_end, uint64_t *ret_value) = {
	[GT_OPTION_INT] = gt_text_parse_u64,
	[GT_OPTION_SIZE] = gt_text_parse_size,
	[GT_OPTION_TIME] = gt_when_span,
};

static int parse_number(const struct gt_option *option, const char *text, int64_t *ret_value)
{
	uint64_t low, high, value;
	const char *end;
	int error = parse_value[option->type](option->values, &end, &low);

	if (error)
		return error;
	error = parse_value[option->type](end + 2, &end, &high); /* after ".." */
	if (error)
		return error;
	error = parse_value[option->type](text, &end, &value);
	if (error || *end)
		return error ? error : -EINVAL;
	if (value < low || value > high)
		return -ERANGE;
	*ret_value = (int64_t)value;
	return 0;
}

static int parse_text(const struct gt_option *option, const char *text, int64_t *ret_value)
{
	*ret_value = *text != 0;
	return 0;
}

static int parse(const struct gt_option *option, const char *text, int64_t *ret_value)
{
	switch (option->type) {
	case GT_OPTION_BOOL:
		return parse_bool(text, ret_value);
	case GT_OPTION_ENUM:
		return parse_enum(option->values, text, ret_value);
	case GT_OPTION_LIST:
		return parse_list(option->values, text, ret_value);
	case GT_OPTION_INT:
	case GT_OPTION_SIZE:
	case GT_OPTION_TIME:
		return parse_number(option, text, ret_value);
	default:
		return parse_text(option, text, ret_value);
	}
}

int gt_config_set(struct gt_config *config, enum gt_option_id id, const char *text)
{
	int64_t number;
	int error = parse(&gt_options[id], text, &number);

	if (error)
		return error;
	config->value[id].text = text;
	config->value[id].number = number;
	config->value[id].is_default = !strcmp(text, gt_options[id].initial);
	return 0;
}

void gt_config_init(struct gt_config *config)
{
	memset(config, 0, sizeof(*config));
	for (int id = 0; id < GT_CONFIG_COUNT_; id++)
		gt_config_set(config, (enum gt_option_id)id, gt_options[id].initial);
}

static const struct {
	enum gt_option_id id;
	const char *minimal, *full;
} levels[] = {
#define GT_LEVEL(id, minimal, full) {GT_CONFIG_##id, minimal, full},
#include "core/levels.def"
#undef GT_LEVEL
};

const char *gt_config_of_level(const char *level, enum gt_option_id id)
{
	bool is_minimal = !strcmp(level, "minimal");

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (levels[i].id == id && (is_minimal || !strcmp(level, "full")))
			return is_minimal ? levels[i].minimal : levels[i].full;
	return NULL;
}

int gt_config_set_level(struct gt_config *config, const char *level)
{
	int error = gt_config_set(config, GT_CONFIG_LEVEL, level);

	for (int id = 0; !error && id < GT_CONFIG_COUNT_; id++) {
		const char *text = gt_config_of_level(level, (enum gt_option_id)id);

		if (text)
			error = gt_config_set(config, (enum gt_option_id)id, text);
	}
	return error;
}

const char *gt_config_bare(enum gt_option_id id)
{
	return gt_options[id].type == GT_OPTION_BOOL ? "yes" : bare[id];
}

int gt_config_find(const char *name, size_t length)
{
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		if (strlen(gt_options[id].name) == length &&
		    !memcmp(gt_options[id].name, name, length))
			return id;
	}
	return -ENOENT;
}

/* One line of printable characters: text from outside must not control the terminal. */
static void strip_controls(char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			*line = '?';
}

void gt_config_explain(enum gt_option_id id, const char *source, const char *text, char *ret_line,
		       size_t size)
{
	static const char *const wants[] = {
		[GT_OPTION_BOOL] = "yes or no",
		[GT_OPTION_INT] = "a number in ",
		[GT_OPTION_SIZE] = "a size in ",
		[GT_OPTION_ENUM] = "one of ",
		[GT_OPTION_LIST] = "one of, or several with commas of, ",
		[GT_OPTION_TIME] = "a time (10, 1.5, 500ms, 2m, 1h) in ",
		[GT_OPTION_STRING] = "some text",
		[GT_OPTION_PATH] = "a path",
	};
	const struct gt_option *option = &gt_options[id];
	bool is_lt =
		id == GT_CONFIG_LIBRARIES && (strstr(text, "cublaslt") || strstr(text, "cublasLt"));

	gt_text_format(ret_line, size, "'%s' is no value for %s: it takes %s%s%s", text, source,
		       wants[option->type], option->values,
		       is_lt ? "; cublas includes cuBLASLt" : "");
	strip_controls(ret_line);
}

static void complain_unknown(const char *variable, void (*complain)(const char *line))
{
	char line[256], name[64];
	size_t length = strcspn(variable, "=");

	for (size_t i = 0; other_variables[i]; i++) {
		if (strlen(other_variables[i]) == length &&
		    !strncmp(other_variables[i], variable, length))
			return;
	}
	length = length < sizeof(name) - 1 ? length : sizeof(name) - 1;
	memcpy(name, variable, length);
	name[length] = 0;
	gt_text_format(line, sizeof(line), "%s is no variable of gputrace, ignored", name);
	strip_controls(line);
	complain(line);
}

static void read_variable(struct gt_config *config, const char *variable,
			  void (*complain)(const char *line))
{
	char line[256];

	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		size_t length = strlen(gt_options[id].env);

		if (strncmp(variable, gt_options[id].env, length) || variable[length] != '=')
			continue;
		if (gt_config_set(config, (enum gt_option_id)id, variable + length + 1) &&
		    complain) {
			gt_config_explain((enum gt_option_id)id, gt_options[id].env,
					  variable + length + 1, line, sizeof(line));
			complain(line);
		}
		return;
	}
	if (complain)
		complain_unknown(variable, complain);
}

/* A wrong value is reported later, when all variables are read. */
static void read_level(struct gt_config *config, char *const *environ)
{
	static const char prefix[] = ENV_PREFIX "LEVEL=";

	for (; environ && *environ; environ++) {
		if (!strncmp(*environ, prefix, sizeof(prefix) - 1))
			gt_config_set_level(config, *environ + sizeof(prefix) - 1);
	}
}

void gt_config_from_env(struct gt_config *config, char *const *environ,
			void (*complain)(const char *line))
{
	read_level(config, environ);
	for (; environ && *environ; environ++) {
		if (!strncmp(*environ, ENV_PREFIX, ENV_PREFIX_LEN))
			read_variable(config, *environ, complain);
	}
}

int gt_config_own_texts(struct gt_config *config)
{
	size_t length = 0;
	char *copy;

	for (int id = 0; id < GT_CONFIG_COUNT_; id++)
		length += strlen(config->value[id].text) + 1;
	copy = gt_memory_map(length);
	if (!copy)
		return -ENOMEM;
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		size_t size = strlen(config->value[id].text) + 1;

		config->value[id].text = memcpy(copy, config->value[id].text, size);
		copy += size;
	}
	return 0;
}

size_t gt_config_describe(const struct gt_config *config, char *ret_text, size_t size)
{
	size_t n = 0;

	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		if (config->value[id].is_default)
			continue;
		n += gt_text_format(ret_text + n, size - n, "%s%s=%s", n ? " " : "",
				    gt_options[id].name, config->value[id].text);
	}
	if (size)
		ret_text[n] = 0;
	return n;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * See symbolize.h. The file is read twice: the first time gathers stacks and modules and looks the
 * positions up, the second time writes. Texts are taken and put back as JSON has them, escaped.
 */
#include "transform/symbolize.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/json/code_owner.h"
#include "readers/chrome/reader.h"
#include "readers/keymap.h"
#include "readers/vec.h"
#include "recover/close.h"
#include "trace/user_code.h"
#include "transform/launch_stubs.h"
#include "transform/native_frame.h"
#include "transform/source.h"

#define PATH_BYTES  4096
#define FRAME_BYTES 16384

struct stack {
	char *frames; /* a JSON array */
	char *line;   /* a JSON string, without its quotes */
};

struct symbolize_module {
	char *path, *build_id;
};

struct symbolize {
	const struct gt_line_limits *limits; /* of "launched by" in the event being read */
	struct gt_sources *sources;
	struct gt_symbolize *result;
	GT_VEC(struct stack) stacks; /* frames NULL: as they were */
	struct gt_keymap ids;        /* of a stack -> its place in stacks */
	GT_VEC(struct symbolize_module) modules;
	gzFile in; /* second reading */
	FILE *out;
	bool has_events;
	uint64_t copied; /* bytes of the file that are in out, or stand in it changed */
};

/* NULL: the file has not told its frames. */
static const struct stack *find_stack(struct symbolize *s, int64_t id)
{
	struct gt_keymap_entry *entry = NULL;

	if (id > 0 && gt_keymap_has(&s->ids, (uint64_t)id))
		entry = gt_keymap_get(&s->ids, (uint64_t)id);
	return entry ? &s->stacks.at[entry->value] : NULL;
}

/* The place of a stack that is not known yet. NULL: no memory. */
static struct stack *add_stack(struct symbolize *s, int64_t id)
{
	struct gt_keymap_entry *entry;

	if (!gt_vec_push(&s->stacks, (struct stack){0}))
		return NULL;
	entry = gt_keymap_get(&s->ids, (uint64_t)id);
	if (!entry)
		return NULL;
	entry->value = (int64_t)s->stacks.count - 1;
	return &s->stacks.at[entry->value];
}

/* The newest one told under this path. */
static const char *find_build_id(const struct symbolize *s, const char *path)
{
	for (size_t i = s->modules.count; i-- > 0;)
		if (!strcmp(s->modules.at[i].path, path))
			return s->modules.at[i].build_id;
	return NULL;
}

/* ---- frames ---- */

static size_t decode(const char *text, size_t len, char *out, size_t size)
{
	struct gt_span span = {.text = text,
			       .len = (uint32_t)len,
			       .kind = GT_SPAN_STRING,
			       .escaped = memchr(text, '\\', len) != NULL};

	if (len >= size)
		return 0;
	len = gt_span_decode(&span, out);
	out[len] = 0;
	return len;
}

static const char *find_last(const char *text, size_t len, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = len; i >= n; i--)
		if (!memcmp(text + i - n, what, n))
			return text + i - n;
	return NULL;
}

static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
}

/* A frame that stays, as "launched by" shows it: without folders and without the offset of a
 * function that has a name. */
static void put_short(FILE *out, const char *text, size_t len)
{
	const char *open = len && text[len - 1] == ')' ? find_last(text, len, " (") : NULL;
	const char *from = open ? open + 2 : text, *slash, *plus;
	size_t left = (size_t)(text + len - from);

	slash = find_last(from, left, "/");
	if (open)
		fwrite(text, 1, (size_t)(from - text), out);
	if (slash)
		left -= (size_t)(slash + 1 - from);
	from = slash ? slash + 1 : from;
	plus = open ? find_last(from, left, "+0x") : NULL;
	if (plus)
		fprintf(out, "%.*s)", (int)(plus - from), from);
	else
		fwrite(from, 1, left, out);
}

/* What "launched by" is made of: the texts of the frames. */
struct symbolize_line {
	char *text[GT_LINE_LOOK];
	enum gt_line_class class[GT_LINE_LOOK];
	size_t count; /* of all frames */
};

static FILE *open_text(struct symbolize_line *line, char **text, size_t *size)
{
	*text = NULL;
	return line->count < GT_LINE_LOOK ? open_memstream(text, size) : NULL;
}

/* @whole: the frame with its path. */
static void close_text(struct symbolize_line *line, FILE *out, char **text, const char *whole)
{
	if (out && fclose(out) == 0) {
		line->text[line->count] = *text;
		line->class[line->count] = gt_user_code_line_class(whole);
	}
	line->count++;
}

/* @text: as in the file; @plain: without escapes, "": too long. */
static void add_short(struct symbolize_line *line, const char *text, size_t len, const char *plain)
{
	size_t size;
	char *made;
	FILE *out = open_text(line, &made, &size);

	if (out)
		put_short(out, text, len);
	close_text(line, out, &made, plain);
}

static void add_found(struct symbolize_line *line, const char *found, const char *whole)
{
	size_t size;
	char *made;
	FILE *out = open_text(line, &made, &size);

	if (out)
		put_escaped(out, found);
	close_text(line, out, &made, whole);
}

static char *join_line(const struct symbolize *s, struct symbolize_line *line)
{
	struct gt_line_frame frames[GT_LINE_LOOK];
	size_t size, count = 0, chosen[GT_LINE_FRAMES], shown;
	char *made = NULL;
	FILE *out = open_memstream(&made, &size);

	for (; count < line->count && count < GT_LINE_LOOK && line->text[count]; count++)
		frames[count] =
			(struct gt_line_frame){line->class[count], strlen(line->text[count])};
	shown = gt_line_choose(s->limits, frames, count, chosen);
	for (size_t i = 0; out && i < shown; i++)
		fprintf(out, "%s%s", i ? " < " : "", line->text[chosen[i]]);
	if (out && shown < line->count)
		fputs(" < ...", out);
	for (size_t i = 0; i < GT_LINE_LOOK; i++)
		free(line->text[i]);
	return out && fclose(out) == 0 ? made : NULL;
}

/* The positions of a frame; 0: none is known. */
static size_t find_lines(struct symbolize *s, const struct gt_native_frame *frame,
			 struct gt_source_line *lines)
{
	char path[PATH_BYTES];
	const char *build_id;

	memcpy(path, frame->path, frame->path_len);
	path[frame->path_len] = 0;
	build_id = find_build_id(s, path);
	return build_id ? gt_sources_find(s->sources, path, build_id, frame->offset, lines) : 0;
}

/* A frame with a position, into the new array. False: no memory. */
static bool put_found(const struct gt_native_frame *frame, const struct gt_source_line *found,
		      FILE *out, struct symbolize_line *line)
{
	char *whole = gt_native_frame_at(frame, found, true);
	char *brief = gt_native_frame_at(frame, found, false);
	bool made = whole && brief;

	if (made) {
		fputs(line->count ? ", \"" : "\"", out);
		put_escaped(out, whole);
		fputc('"', out);
		add_found(line, brief, whole);
	}
	free(whole);
	free(brief);
	return made;
}

/* One element of "frames" into the new array. Returns whether a position was found. */
static bool take_frame(struct symbolize *s, const struct gt_span *text, FILE *out,
		       struct symbolize_line *line)
{
	struct gt_source_line lines[GT_SOURCE_DEPTH];
	char plain[FRAME_BYTES];
	struct gt_native_frame frame;
	size_t count = 0, from;

	if (!decode(text->text, text->len, plain, sizeof(plain)))
		*plain = 0;
	if (*plain && gt_native_frame_parse(plain, &frame)) {
		s->result->frames++;
		count = find_lines(s, &frame, lines);
	}
	if (!count) {
		fprintf(out, "%s\"%.*s\"", line->count ? ", " : "", (int)text->len, text->text);
		add_short(line, text->text, text->len, plain);
		return false;
	}
	s->result->found++;
	from = line->count ? 0 : gt_launch_stubs(lines, count, plain, frame.function_len);
	while (from < count && put_found(&frame, &lines[from], out, line))
		from++;
	return true;
}

/* ---- first reading ---- */

/* Fills @stack; its frames stay NULL when none of them has a position. */
static int make_stack(struct symbolize *s, const struct gt_span *frames, struct stack *stack)
{
	struct stack made = {0};
	struct gt_span frame;
	struct symbolize_line line = {0};
	uint32_t position = 0;
	bool found = false;
	size_t size;
	FILE *out = open_memstream(&made.frames, &size);

	if (!out)
		return -ENOMEM;
	fputc('[', out);
	while (gt_span_next(frames, &position, &frame))
		found |= take_frame(s, &frame, out, &line);
	fputc(']', out);
	found &= line.count > 0; /* nothing but the toolkit's: as it was */
	made.line = join_line(s, &line);
	if (fclose(out) == 0 && made.line && found) {
		*stack = made;
		return 0;
	}
	free(made.frames);
	free(made.line);
	return found ? -ENOMEM : 0;
}

static int take_stack(struct symbolize *s, int64_t id, const struct gt_span *frames)
{
	struct stack *stack;

	if (frames->kind != GT_SPAN_ARRAY || id <= 0 || find_stack(s, id))
		return 0;
	stack = add_stack(s, id);
	return stack ? make_stack(s, frames, stack) : -ENOMEM;
}

/* The scanner of one "modules" object. */
static const char *take_module(struct gt_scan *scan, const struct gt_span *key, const char *value,
			       void *data)
{
	struct symbolize *s = data;
	struct gt_span build_id;
	char path[PATH_BYTES];
	struct symbolize_module module;

	value = gt_scan_value(scan, value, &build_id);
	if (!value || build_id.kind != GT_SPAN_STRING ||
	    !decode(key->text, key->len, path, sizeof(path)) || !gt_vec_grow(&s->modules))
		return value;
	module.path = strdup(path);
	module.build_id = strndup(build_id.text, build_id.len);
	if (module.path && module.build_id) {
		s->modules.at[s->modules.count++] = module;
	} else {
		free(module.path);
		free(module.build_id);
	}
	return value;
}

static void take_modules(struct symbolize *s, const struct gt_span *modules)
{
	struct gt_scan scan;

	if (modules->kind != GT_SPAN_OBJECT)
		return;
	scan = (struct gt_scan){.end = modules->text + modules->len};
	gt_scan_object(&scan, modules->text, take_module, s);
}

/* The arguments of the stacks that an event may have. */
static const struct {
	enum gt_arg id, line, frames, modules;
} stack_args[] = {
	{GT_ARG_STACK, GT_ARG_LAUNCHED_BY, GT_ARG_FRAMES, GT_ARG_MODULES},
	{GT_ARG_CREATED_STACK, GT_ARG_CREATED_BY, GT_ARG_CREATED_FRAMES, GT_ARG_CREATED_MODULES},
	{GT_ARG_FORWARD_STACK, GT_ARG_FORWARD_BY, GT_ARG_FORWARD_FRAMES, GT_ARG_FORWARD_MODULES},
};

#define STACKS_OF_EVENT (sizeof(stack_args) / sizeof(stack_args[0]))

/* The short form of arguments, which has no blanks, has a short line, too. */
static const struct gt_line_limits *limits_of(const struct gt_trace_event *record)
{
	const char *colon =
		record->args.len ? memchr(record->args.text, ':', record->args.len) : NULL;

	return colon && colon[1] != ' ' ? &gt_line_short : &gt_line_long;
}

static int gather(const struct gt_trace_event *record, const struct gt_header *header, void *data)
{
	struct symbolize *s = data;
	int rc = 0;

	(void)header;
	s->has_events = true;
	s->limits = limits_of(record);
	for (size_t i = 0; i < STACKS_OF_EVENT; i++)
		if (gt_record_has(record, stack_args[i].modules))
			take_modules(s, &record->arg[stack_args[i].modules]);
	for (size_t i = 0; i < STACKS_OF_EVENT && !rc; i++)
		if (gt_record_has(record, stack_args[i].frames))
			rc = take_stack(s, gt_record_int(record, stack_args[i].id, 0),
					&record->arg[stack_args[i].frames]);
	return rc;
}

/* ---- second reading ---- */

/* Copies the file up to the byte @until. */
static int copy_until(struct symbolize *s, uint64_t until)
{
	char bytes[65536];

	while (s->copied < until) {
		uint64_t left = until - s->copied;
		unsigned int wanted = left < sizeof(bytes) ? (unsigned int)left : sizeof(bytes);
		int got = gzread(s->in, bytes, wanted);

		if (got <= 0)
			return until == UINT64_MAX && got == 0 ? 0 : -EIO;
		if (fwrite(bytes, 1, (size_t)got, s->out) != (size_t)got)
			return -errno;
		s->copied += (uint64_t)got;
	}
	return 0;
}

/* Writes @text in the place of @span, which stands in the event @record. */
static int replace(struct symbolize *s, const struct gt_trace_event *record,
		   const struct gt_span *span, const char *text)
{
	uint64_t at = record->byte + (uint64_t)(span->text - record->raw.text);
	int rc = copy_until(s, at);

	if (rc)
		return rc;
	if (gzseek(s->in, (z_off_t)span->len, SEEK_CUR) < 0)
		return -EIO;
	s->copied += span->len;
	return fputs(text, s->out) < 0 ? -EIO : 0;
}

struct change {
	const struct gt_span *span;
	const char *text;
};

static int by_place(const void *a, const void *b)
{
	const char *left = ((const struct change *)a)->span->text;
	const char *right = ((const struct change *)b)->span->text;

	return left < right ? -1 : left > right;
}

static size_t find_changes(struct symbolize *s, const struct gt_trace_event *record,
			   struct change *ret_changes)
{
	size_t count = 0;

	for (size_t i = 0; i < STACKS_OF_EVENT; i++) {
		const struct stack *stack =
			gt_record_has(record, stack_args[i].id)
				? find_stack(s, gt_record_int(record, stack_args[i].id, 0))
				: NULL;

		if (!stack || !stack->frames)
			continue;
		if (gt_record_has(record, stack_args[i].line))
			ret_changes[count++] =
				(struct change){&record->arg[stack_args[i].line], stack->line};
		if (gt_record_has(record, stack_args[i].frames))
			ret_changes[count++] =
				(struct change){&record->arg[stack_args[i].frames], stack->frames};
	}
	qsort(ret_changes, count, sizeof(ret_changes[0]), by_place);
	return count;
}

static int rewrite(const struct gt_trace_event *record, const struct gt_header *header, void *data)
{
	struct change changes[2 * STACKS_OF_EVENT];
	size_t count = find_changes(data, record, changes);
	int rc = 0;

	(void)header;
	for (size_t i = 0; i < count && !rc; i++)
		rc = replace(data, record, changes[i].span, changes[i].text);
	return rc;
}

/* Behind the last whole event: as it stands there, or, of a file that was cut, what closes it. */
static int write_end(struct symbolize *s, const struct gt_reading *reading)
{
	int rc;

	s->result->cut = !reading->closed || reading->mixed;
	if (!s->result->cut)
		return copy_until(s, UINT64_MAX);
	rc = copy_until(s, reading->end_byte);
	if (!rc && reading->form == GT_FORM_ARRAY)
		fputs("\n]\n", s->out);
	else if (!rc)
		gt_close_put_end(reading, reading->bytes - reading->end_byte, s->out);
	return rc;
}

static int read_all(struct symbolize *s, const char *path, gt_reader_event event,
		    int (*end)(struct symbolize *s, const struct gt_reading *reading))
{
	struct gt_reading reading;
	int rc = gt_reader_read(path, event, s, &reading);

	if (!rc && end)
		rc = end(s, &reading);
	if (reading.is_pftrace) {
		rc = -EINVAL;
		snprintf(reading.error, sizeof(reading.error),
			 "%.400s: only JSON gets source lines; make it of this .pftrace with "
			 "gputrace convert",
			 path);
	}
	if (rc)
		snprintf(s->result->error, sizeof(s->result->error), "%s",
			 reading.error[0] ? reading.error : strerror(-rc));
	gt_reading_fini(&reading);
	return rc;
}

static int write_again(struct symbolize *s, const char *path)
{
	int rc;

	s->in = gzopen(path, "rb");
	if (!s->in) {
		snprintf(s->result->error, sizeof(s->result->error), "%.500s: %s", path,
			 strerror(errno));
		return -errno;
	}
	rc = read_all(s, path, rewrite, write_end);
	if (rc && !s->result->error[0])
		snprintf(s->result->error, sizeof(s->result->error), "%.500s: %s", path,
			 strerror(-rc));
	gzclose(s->in);
	return rc;
}

static void fini(struct symbolize *s)
{
	for (size_t i = 0; i < s->stacks.count; i++) {
		free(s->stacks.at[i].frames);
		free(s->stacks.at[i].line);
	}
	for (size_t i = 0; i < s->modules.count; i++) {
		free(s->modules.at[i].path);
		free(s->modules.at[i].build_id);
	}
	free(s->stacks.at);
	free(s->modules.at);
	gt_keymap_fini(&s->ids);
	gt_sources_free(s->sources);
}

int gt_symbolize(const char *path, FILE *out, enum gt_symbolize_when when, bool debuginfod,
		 struct gt_symbolize *ret_result)
{
	struct symbolize s = {.result = ret_result, .out = out};
	int rc;

	*ret_result = (struct gt_symbolize){0};
	s.sources = gt_sources_new(debuginfod);
	if (!s.sources)
		return -ENOMEM;
	rc = read_all(&s, path, gather, NULL);
	if (!rc && !s.has_events) {
		snprintf(ret_result->error, sizeof(ret_result->error), "%.500s: holds no event",
			 path);
		rc = -EBADMSG;
	}
	if (!rc && (ret_result->found || when == GT_SYMBOLIZE_ALWAYS))
		rc = write_again(&s, path);
	ret_result->missing = gt_sources_missing(s.sources);
	fini(&s);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of core/config.def: parsed from GPUTRACE_* by the tracer, from --name=value by the
 * command, both through gt_config_set. Strings point at the caller's memory (the environment),
 * which must outlive the config or be copied by gt_config_own_texts.
 */
#ifndef GT_CORE_CONFIG_H
#define GT_CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Type of an option's value. */
enum gt_option_type {
	GT_OPTION_BOOL,
	GT_OPTION_INT,
	GT_OPTION_SIZE,
	GT_OPTION_TIME,
	GT_OPTION_ENUM,
	GT_OPTION_LIST,
	GT_OPTION_STRING,
	GT_OPTION_PATH,
};

/* The options of config.def. */
enum gt_option_id {
#define GT_OPTION(id, name, type, def, values, arg, help) GT_CONFIG_##id,
#include "core/config.def"
#undef GT_OPTION
	GT_CONFIG_COUNT_
};

/* One row of config.def. */
struct gt_option {
	const char *name; /* "max-size" */
	const char *env;  /* "GPUTRACE_MAX_SIZE" */
	enum gt_option_type type;
	const char *initial;  /* default, as a user would write it */
	const char *values;   /* see config.def */
	const char *argument; /* name of the value in the help */
	const char *help;
};

/* Indexed by enum gt_option_id. */
extern const struct gt_option gt_options[GT_CONFIG_COUNT_];

/* The values of all options in this process. */
struct gt_config {
	struct {
		const char *text; /* STRING, PATH, ENUM, LIST */
		int64_t number;   /* BOOL 0/1, INT, SIZE bytes, TIME ns, ENUM index in values, LIST
				     bits of such */
		bool is_default;
	} value[GT_CONFIG_COUNT_];
};

/* All defaults. */
void gt_config_init(struct gt_config *config);

/* Applies a level (core/levels.def). Call it before options are set one by one: they override it.
 * -EINVAL: no such level, nothing changed. */
int gt_config_set_level(struct gt_config *config, const char *level);

/* The value that @level gives option @id, NULL: the option's own default. */
const char *gt_config_of_level(const char *level, enum gt_option_id id);

/* What option @id means without a value: "yes" for a BOOL. NULL: it needs one. */
const char *gt_config_bare(enum gt_option_id id);

/* Index of the option called @name ("max-size") of @length bytes, or -ENOENT. */
int gt_config_find(const char *name, size_t length);

/* Sets option @id from text. -EINVAL: wrong type, -ERANGE: outside its range; on an error the old
 * value stays. */
int gt_config_set(struct gt_config *config, enum gt_option_id id, const char *text);

/* Writes one line that says why @text is wrong for @id and which values are allowed. @source: where
 * it was given, "--level" or "GPUTRACE_LEVEL". */
void gt_config_explain(enum gt_option_id id, const char *source, const char *text, char *ret_line,
		       size_t size);

/* Reads every GPUTRACE_* variable of @environ, the level first. A wrong value or an unknown name is
 * reported through @complain (one line each, may be NULL) and ignored: the program must run. */
void gt_config_from_env(struct gt_config *config, char *const *environ,
			void (*complain)(const char *line));

/* Copies every text into memory of the tracer: a program that sets its process title overwrites its
 * environment. -ENOMEM: nothing changed. */
int gt_config_own_texts(struct gt_config *config);

/* Writes "name=value name=value" of the options that differ from their defaults. Returns the
 * length. */
size_t gt_config_describe(const struct gt_config *config, char *ret_text, size_t size);

/* Value of a BOOL, INT, SIZE or ENUM option. */
static inline int64_t gt_config_number(const struct gt_config *config, enum gt_option_id id)
{
	return config->value[id].number;
}

/* Value of a STRING, PATH, ENUM or LIST option. */
static inline const char *gt_config_text(const struct gt_config *config, enum gt_option_id id)
{
	return config->value[id].text;
}

/* Value of a BOOL option. */
static inline bool gt_config_bool(const struct gt_config *config, enum gt_option_id id)
{
	return config->value[id].number != 0;
}

/* Whether what calls do with memory is recorded. */
static inline bool gt_config_records_memory(const struct gt_config *config)
{
	return gt_config_bool(config, GT_CONFIG_MEMORY) ||
	       gt_config_bool(config, GT_CONFIG_UNIFIED_MEMORY);
}

#endif

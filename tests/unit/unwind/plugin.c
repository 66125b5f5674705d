/* SPDX-License-Identifier: Apache-2.0
 *
 * A library whose constructor calls back into the program that loads it, on request.
 */
void (*plugin_visitor(void))(void *);
void *plugin_context(void);

__attribute__((constructor)) static void construct(void)
{
	void (*visit)(void *) = plugin_visitor();

	if (visit)
		visit(plugin_context());
}

int plugin_call(int (*function)(int), int n);

int plugin_call(int (*function)(int), int n)
{
	return function(n + FRAME) - FRAME;
}

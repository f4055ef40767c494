/**
 * Replaces `$(NAME)` by the value of `lookup`. `$$` is one dollar sign, so `$$(NAME)` stays a reference; an
 * unknown name, an unclosed reference and a dollar sign before anything else stay as they are.
 */
export function expandEnv(text: string, lookup: (name: string) => string | undefined): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (match, name: string | undefined) => {
    if (name === undefined) return '$';
    return lookup(name) ?? match;
  });
}

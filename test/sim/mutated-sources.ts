import { registerHooks } from 'node:module';
import type { Change } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';

/** Makes this thread load the agent with a mutation. The files stay unchanged. */
export function loadMutated(name: string): void {
  const mutation = MUTATIONS.find((each) => each.name === name);
  if (!mutation) throw new Error(`unknown mutation "${name}"`);
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const changes = mutation.changes.filter(({ file }) => url.endsWith(`/${file}`));
      if (changes.length === 0) return loaded;
      return { ...loaded, source: changes.reduce(changed, String(loaded.source)) };
    },
  });
}

/** Throws when the file does not contain the text exactly once: the mutation would have no effect. */
export function changed(source: string, { file, from, to }: Change): string {
  if (source.split(from).length !== 2) throw new Error(`${file} must contain this text once: ${from}`);
  return source.replace(from, () => to);
}

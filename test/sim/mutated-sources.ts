import { registerHooks } from 'node:module';
import type { Change } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';

/** From now on this thread loads the agent with a mistake in it. The files stay as they are. */
export function loadMutated(name: string): void {
  const mutation = MUTATIONS.find((each) => each.name === name);
  if (!mutation) throw new Error(`there is no mutation "${name}"`);
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const changes = mutation.changes.filter(({ file }) => url.endsWith(`/${file}`));
      if (changes.length === 0) return loaded;
      return { ...loaded, source: changes.reduce(changed, String(loaded.source)) };
    },
  });
}

/** Throws when the text is not there any more: a mutation that changes nothing proves nothing. */
export function changed(source: string, { file, from, to }: Change): string {
  if (source.split(from).length !== 2) throw new Error(`${file} must have this once: ${from}`);
  return source.replace(from, () => to);
}

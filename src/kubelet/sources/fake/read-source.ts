import type { VirtualClock } from '../../../host/fake/virtual-clock.ts';
import type { PodSource, SourceSnapshot } from '../pod-source.ts';

export function manifest(name: string, image = 'busybox'): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: main, image: ${image}}]}\n`;
}

/** `name image` of each pod. */
export function podsOf({ pods }: Pick<SourceSnapshot, 'pods'>): string[] {
  return pods.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`);
}

/** Reads a source until the end of the scope. */
export function readSource(source: PodSource, clock: VirtualClock) {
  const end = new AbortController();
  const snapshots: SourceSnapshot[] = [];
  const done = (async () => {
    for await (const snapshot of source.snapshots(end.signal)) snapshots.push(snapshot);
  })();
  return {
    snapshots,
    /** The last snapshot after this time. */
    async after(ms: number) {
      await clock.advance(ms);
      const { pods = [], errors = [] } = snapshots.at(-1) ?? {};
      return { pods: podsOf({ pods }), errors: errors.map(({ message }) => message) };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      end.abort();
      await clock.runUntil(done);
    },
  };
}

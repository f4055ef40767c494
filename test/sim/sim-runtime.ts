import type { Effect } from '../../src/cri/fake/effects.ts';
import { createFakeRuntime, type FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { MemoryHost } from '../../src/host/fake/memory-host.ts';
import { allowsPull } from './plan-objects.ts';
import { IMAGES, PRIVATE_IMAGE, SLOW_IMAGE } from './plan-pods.ts';
import { behaviours } from './program.ts';

const SLOW_PULL_MS = 40_000;

export interface SimRuntimeDeps {
  readonly host: MemoryHost;
  readonly onHook: Parameters<typeof behaviours>[1];
  readonly onEffect: (effect: Effect) => void;
}

/** A runtime whose containers behave as their arguments say, with the images of the plan. */
export function createSimRuntime({ host, onHook, onEffect }: SimRuntimeDeps): FakeRuntime {
  const { clock, random } = host;
  const runtime = createFakeRuntime({ clock, random, behaviourOf: behaviours(clock, onHook), onEffect });
  for (const image of IMAGES) {
    runtime.addImage(image);
    runtime.registry.set(image, {});
  }
  runtime.registry.set(PRIVATE_IMAGE, { allows: allowsPull });
  runtime.registry.set(SLOW_IMAGE, { pullMs: SLOW_PULL_MS });
  return runtime;
}

/** All names of all images. */
export async function imageNames({ cri }: FakeRuntime): Promise<readonly string[]> {
  const { images } = await cri.images.listImages({ filter: undefined }, new AbortController().signal);
  return images.flatMap(({ repoDigests, repoTags }) => [...repoDigests, ...repoTags]);
}

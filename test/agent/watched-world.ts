import type { Container } from '../../src/api/generated/core-v1.ts';
import type { Effect } from '../../src/cri/fake/effects.ts';
import { createFakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import type { World } from './memory-agent.ts';

export interface WatchedWorld extends World {
  /** `10 started web`: the effects on containers, with seconds. */
  readonly effects: string[];
}

/** A world that records the effects on containers. */
export function newWatchedWorld(): WatchedWorld {
  const host = createMemoryHost();
  const effects: string[] = [];
  const onEffect = (effect: Effect): void => {
    if (!('container' in effect) || effect.kind === 'created' || effect.kind === 'killed') return;
    effects.push(`${host.clock.monotonic() / 1000} ${effect.kind} ${effect.container.config.metadata?.name}`);
  };
  const runtime = createFakeRuntime({ clock: host.clock, random: host.random, fs: host.fs, onEffect });
  runtime.addImage('busybox:1');
  return { host, runtime, effects };
}

export function container(name: string, extra: Partial<Container> = {}): Container {
  return { name, image: 'busybox:1', ...extra };
}

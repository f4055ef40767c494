import type { Pod } from '../../src/api/generated/core-v1.ts';
import { Draw } from './draw.ts';

/** The node is short of memory for `ms`. */
export interface PressureFault {
  readonly kind: 'memoryShort';
  readonly ms: number;
}

export function drawPressureFaults(draw: Draw, untilMs: number): (PressureFault & { readonly at: number })[] {
  return draw.several(0, 2, () => ({ at: draw.int(0, untilMs), kind: 'memoryShort', ms: draw.int(200, 15_000) }));
}

/** Some pods of the API server are critical. Edits of a pod keep its priority. */
export function withPriority(seed: number, pod: Pod): Pod {
  const draw = new Draw(seed, `priority ${pod.metadata.uid}`);
  if (!draw.chance(0.2)) return pod;
  return { ...pod, spec: { ...pod.spec, priority: draw.pick([-10, 1_000, 2_000_000_000, 2_000_001_000]) } };
}

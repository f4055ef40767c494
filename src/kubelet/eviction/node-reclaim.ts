import type { DiskLayout } from '../node/signals/disk-layout.ts';
import type { PressureSignal } from '../node/signals/pressure-signal.ts';

/** What the node can remove before it evicts pods. */
export type NodeReclaim = 'deadContainers' | 'unusedImages';

/** What to remove for a signal, in order; nothing for memory and processes. */
export function nodeReclaims(signal: PressureSignal, layout: DiskLayout): readonly NodeReclaim[] {
  const [disk] = signal.split('.');
  if (disk !== 'nodefs' && disk !== 'imagefs' && disk !== 'containerfs') return [];
  switch (layout) {
    case 'single':
      return ['deadContainers', 'unusedImages'];
    case 'dedicatedImages':
      return disk === 'nodefs' ? [] : ['deadContainers', 'unusedImages'];
    case 'split':
      return disk === 'imagefs' ? ['unusedImages'] : ['deadContainers'];
  }
}

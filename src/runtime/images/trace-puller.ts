import { traceWork } from '../../base/trace-work.ts';
import type { ImagePuller } from './image-puller.ts';

/** The puller with containerd's span of a pull. */
export function tracePuller(puller: ImagePuller): ImagePuller {
  return {
    pull: (reference, auth, signal, watch) =>
      traceWork(
        () => ({ name: 'pull.Pull', facts: { 'image.ref': reference } }),
        () => puller.pull(reference, auth, signal, watch),
      ),
  };
}

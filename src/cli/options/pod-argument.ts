import type { PodReference } from '../../kubelet/local-api/find-pod.ts';
import { CommandError, EXIT } from './command-error.ts';

const KIND_PREFIX = /^(?:pods?|po)\//;

/** `NAME`, `NAMESPACE/NAME` or kubectl's `pod/NAME`; a namespace in the name must not contradict `-n`. */
export function podArgument(text: string, namespace: string | undefined): PodReference {
  const [first, second, ...more] = text.replace(KIND_PREFIX, '').split('/');
  const own = second === undefined ? undefined : first;
  const name = second ?? first;
  if (!name || own === '' || more.length > 0) {
    throw new CommandError(`"${text}" is not the name of a pod: use NAME or NAMESPACE/NAME`, EXIT.badInput);
  }
  if (own !== undefined && namespace !== undefined && own !== namespace) {
    throw new CommandError(`"${text}" is not in the namespace ${namespace}`, EXIT.badInput);
  }
  return { name, namespace: own ?? namespace };
}

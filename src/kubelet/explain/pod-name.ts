import { manifestName } from '../pod/manifest-name.ts';
import type { PodReport } from './agent-view.ts';

/** The name that users and commands use: `hello`, `kube-system/dns`. */
export function podName({ pod }: Pick<PodReport, 'pod'>): string {
  const { namespace } = pod.metadata;
  const name = manifestName(pod, pod.spec.nodeName ?? '');
  return namespace === 'default' ? name : `${namespace}/${name}`;
}

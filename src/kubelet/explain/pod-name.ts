import { manifestName } from '../pod/manifest-name.ts';
import type { PodReport } from './agent-view.ts';

/** As a user names it and the commands take it: `hello`, `kube-system/dns`. */
export function podName({ pod }: Pick<PodReport, 'pod'>): string {
  const { namespace } = pod.metadata;
  const name = manifestName(pod, pod.spec.nodeName ?? '');
  return namespace === 'default' ? name : `${namespace}/${name}`;
}

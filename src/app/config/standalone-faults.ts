import type { KubeletSettings } from './load-config.ts';
import { errorAt, type Problem } from './problem.ts';

/** What a node without a cluster cannot be told to do, since there is nobody to ask. Kubelet does not start then, either. */
export function standaloneFaults({ config, flags }: Pick<KubeletSettings, 'config' | 'flags'>): readonly Problem[] {
  if (flags.kubeconfig) return [];
  const { authentication, authorization } = config;
  return [
    ...(authentication.webhook.enabled
      ? [
          errorAt(
            'authentication.webhook.enabled',
            'no client provided, cannot use webhook authentication: set it to false, or give --kubeconfig',
          ),
        ]
      : []),
    ...(authorization.mode === 'Webhook'
      ? [
          errorAt(
            'authorization.mode',
            'no client provided, cannot use webhook authorization: set it to AlwaysAllow, or give --kubeconfig',
          ),
        ]
      : []),
  ];
}

import { type ConfigDiagnostic, errorAt } from './config-diagnostic.ts';
import type { KubeletSettings } from './load-config.ts';

/** Errors of a standalone configuration that needs an API server. kubelet does not start with it either. */
export function standaloneErrors({
  config,
  flags,
}: Pick<KubeletSettings, 'config' | 'flags'>): readonly ConfigDiagnostic[] {
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

import { type ConfigDiagnostic, warningAt } from './config-diagnostic.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import { ipFamily } from './ip-address.ts';

/** What is odd about a complete configuration, though kubelet starts with it. */
export function configWarnings(config: KubeletConfiguration): readonly ConfigDiagnostic[] {
  const { clusterDNS = [], kubeletCgroups = '', kubeReservedCgroup = '' } = config;
  const warnings = clusterDNS
    .filter((address) => ipFamily(address) === undefined)
    .map((address) => warningAt('clusterDNS', `Invalid clusterDNS IP ${JSON.stringify(address)} is ignored`));
  if (kubeletCgroups !== '' && !kubeletCgroups.startsWith(kubeReservedCgroup)) {
    warnings.push(
      warningAt('kubeletCgroups', 'unsupported configuration:KubeletCgroups is not within KubeReservedCgroup'),
    );
  }
  return warnings;
}

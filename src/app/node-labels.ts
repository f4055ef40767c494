import { goArchitecture } from './go-architecture.ts';

/** The labels that kubelet gives its node by itself. */
export function nodeLabels(nodeName: string): Readonly<Record<string, string>> {
  const arch = goArchitecture();
  return {
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': arch,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': arch,
  };
}

/** Node's names for what Go calls otherwise. */
const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** The labels that kubelet gives its node by itself. */
export function nodeLabels(nodeName: string): Readonly<Record<string, string>> {
  const arch = GO_ARCHITECTURES[process.arch] ?? process.arch;
  return {
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': arch,
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': arch,
  };
}

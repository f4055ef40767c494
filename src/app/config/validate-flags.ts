import { formatDurationMs } from '../../base/duration.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../base/name-syntax.ts';
import { type ConfigDiagnostic, errorAt, warningAt } from './config-diagnostic.ts';
import { ipFamily, isUnspecifiedIp } from './ip-address.ts';
import type { KubeletFlags } from './kubelet-flags.ts';

/** Namespaces and single labels of Kubernetes that a node may give itself. */
const OWN_NAMESPACES = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const OWN_LABELS = [
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
];

/** Objections to the flags that have a meaning of their own. */
export function validateFlags(flags: KubeletFlags): readonly ConfigDiagnostic[] {
  return [
    ...labelDiagnostics(flags.nodeLabels),
    ...nodeIpDiagnostics(flags.nodeIp ?? '', flags.cloudProvider ?? ''),
    ...containerAgeDiagnostics(flags.minimumContainerTtlMs),
    ...lockFileDiagnostics(flags),
  ];
}

function* labelDiagnostics(labels: KubeletFlags['nodeLabels']): Generator<ConfigDiagnostic> {
  const foreign = Object.keys(labels).filter((key) => isOfKubernetes(key) && !isOfNodes(key));
  if (foreign.length > 0) {
    const list = foreign.sort((a, b) => (a < b ? -1 : 1)).join(' ');
    yield errorAt(
      '--node-labels',
      `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${list}]\n--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix (${OWN_NAMESPACES.join(', ')}) or be in the specifically allowed set (${OWN_LABELS.join(', ')})`,
    );
  }
  const messages = Object.entries(labels).flatMap(([key, value]) => [
    [key, qualifiedNameErrors(key)] as const,
    [value, labelValueErrors(value)] as const,
  ]);
  const invalid = messages
    .filter(([, each]) => each.length > 0)
    .map(([text, each]) => `'${text}' - ${each.join(', ')}`);
  if (invalid.length > 0) yield errorAt('--node-labels', `invalid node labels: ${invalid.join('; ')}`);
}

function* containerAgeDiagnostics(ms: number): Generator<ConfigDiagnostic> {
  const age = formatDurationMs(ms);
  if (ms < 0) yield errorAt('--minimum-container-ttl-duration', `invalid minimum garbage collection age: ${age}`);
}

function* lockFileDiagnostics({ lockFile, exitOnLockContention }: KubeletFlags): Generator<ConfigDiagnostic> {
  if (!exitOnLockContention || lockFile !== undefined) return;
  yield errorAt('--exit-on-lock-contention', 'cannot exit on lock file contention: no lock file specified');
}

function isOfKubernetes(key: string): boolean {
  return ['kubernetes.io', 'k8s.io'].some((domain) => isWithin(namespaceOf(key), domain));
}

function isOfNodes(key: string): boolean {
  return OWN_LABELS.includes(key) || OWN_NAMESPACES.some((domain) => isWithin(namespaceOf(key), domain));
}

function isWithin(namespace: string, domain: string): boolean {
  return namespace === domain || namespace.endsWith(`.${domain}`);
}

function namespaceOf(key: string): string {
  return key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
}

/** The addresses of `--node-ip` that are some. */
export function parseNodeIps(nodeIp: string): readonly string[] {
  return nodeIpParts(nodeIp).filter((ip) => ipFamily(ip) !== undefined);
}

function nodeIpParts(nodeIp: string): readonly string[] {
  return nodeIp === '' ? [] : nodeIp.split(',').map((ip) => ip.trim());
}

function* nodeIpDiagnostics(nodeIp: string, cloudProvider: string): Generator<ConfigDiagnostic> {
  const parts = nodeIpParts(nodeIp);
  const ips = parseNodeIps(nodeIp);
  const wrong = parts.filter((part) => !ips.includes(part));
  if (wrong.length > 0) {
    yield warningAt('--node-ip', `Could not parse some node IP(s), ignoring them: ${wrong.join(', ')}`);
  }
  const message = nodeIpError(ips, cloudProvider);
  if (message !== undefined) yield errorAt('--node-ip', `bad --node-ip ${JSON.stringify(nodeIp)}: ${message}`);
}

function nodeIpError(ips: readonly string[], cloudProvider: string): string | undefined {
  if (ips.length < 2) return undefined;
  const families = new Set(ips.map(ipFamily));
  if (ips.length > 2 || families.size < 2) return 'must contain either a single IP or a dual-stack pair of IPs';
  if (cloudProvider !== '' && cloudProvider !== 'external') return 'dual-stack not supported in this configuration';
  return ips.some(isUnspecifiedIp) ? "dual-stack node IP cannot include '0.0.0.0' or '::'" : undefined;
}

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Programs that tests run beside Nodelet; `scripts/cluster-tools.sh` builds them. */
export type ClusterTool =
  | 'agnhost'
  | 'containerd'
  | 'containerd-shim-runc-v2'
  | 'coredns'
  | 'crictl'
  | 'critest'
  | 'dra-test-driver'
  | 'e2e_node.test'
  | 'etcd'
  | 'ginkgo'
  | 'hostpathplugin'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-proxy'
  | 'kube-scheduler'
  | 'kubeadm'
  | 'kubectl'
  | 'kubelet'
  | 'metrics-server'
  | 'sample-device-plugin';

const SCRIPT = join(import.meta.dirname, '../../scripts/cluster-tools.sh');
/** The required version output of a program on the search path: another version is another reference. */
const VERSIONS: Readonly<Record<ClusterTool, { readonly args: readonly string[]; readonly wanted: RegExp }>> = {
  agnhost: { args: ['--version'], wanted: /2\.63\./ },
  containerd: { args: ['--version'], wanted: / v?2\.4\./ },
  'containerd-shim-runc-v2': { args: ['-v'], wanted: /Version: +v?2\.4\./ },
  coredns: { args: ['-version'], wanted: /CoreDNS-1\.14\./ },
  crictl: { args: ['--version'], wanted: /1\.36\./ },
  critest: { args: ['--version'], wanted: /1\.36\./ },
  'dra-test-driver': { args: ['--help'], wanted: /cdi-test-driver/ },
  'e2e_node.test': { args: ['--version'], wanted: /v1\.36\./ },
  etcd: { args: ['--version'], wanted: /etcd Version: 3\.[56]\./ },
  ginkgo: { args: ['version'], wanted: /2\.28\./ },
  hostpathplugin: { args: ['--version'], wanted: /v1\.7\./ },
  'kube-apiserver': { args: ['--version'], wanted: /v1\.36\./ },
  'kube-controller-manager': { args: ['--version'], wanted: /v1\.36\./ },
  'kube-proxy': { args: ['--version'], wanted: /v1\.36\./ },
  'kube-scheduler': { args: ['--version'], wanted: /v1\.36\./ },
  kubeadm: { args: ['version', '-o=short'], wanted: /v1\.36\./ },
  kubectl: { args: ['version', '--client'], wanted: /v1\.36\./ },
  kubelet: { args: ['--version'], wanted: /v1\.36\./ },
  'metrics-server': { args: ['--version'], wanted: /^v0\.9\./ },
  'sample-device-plugin': { args: ['--version'], wanted: /(?!)/ }, // it prints none: only the built one is used
};

/** The output directory of the script. */
export function clusterToolsFolder(): string {
  return execFileSync(SCRIPT, ['--where'], { encoding: 'utf8' }).trim();
}

/** Searches `KUBEBUILDER_ASSETS`, the cache of `make cluster-tools`, and `PATH`. */
export function findClusterTool(name: ClusterTool): string | undefined {
  const given = process.env['KUBEBUILDER_ASSETS'];
  const known = [...(given ? [given] : []), clusterToolsFolder()].map((folder) => join(folder, name));
  const inPath = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, name));
  return known.find((path) => existsSync(path)) ?? inPath.find((path) => existsSync(path) && isWanted(name, path));
}

/** The path of a program that `clusterToolsSkipReason` has found. */
export function clusterTool(name: ClusterTool): string {
  const path = findClusterTool(name);
  if (path === undefined) throw new Error(`there is no ${name}; \`scripts/cluster-tools.sh ${name}\` builds it`);
  return path;
}

/** The `{ skip }` reason of a test when the programs are missing, else `false`. */
export function clusterToolsSkipReason(...names: readonly ClusterTool[]): string | false {
  const missing = names.filter((name) => findClusterTool(name) === undefined);
  if (missing.length === 0) return false;
  const noted = join(clusterToolsFolder(), 'unavailable');
  if (existsSync(noted)) return readFileSync(noted, 'utf8').trim();
  return `not built: ${missing.join(', ')} (\`scripts/cluster-tools.sh ${missing.join(' ')}\` builds them)`;
}

function isWanted(name: ClusterTool, path: string): boolean {
  const { args, wanted } = VERSIONS[name];
  try {
    return wanted.test(execFileSync(path, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  } catch {
    return false;
  }
}

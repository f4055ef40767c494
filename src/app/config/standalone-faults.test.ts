import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { loadKubeletConfig } from './load-config.ts';
import { formatProblem } from './problem.ts';
import { standaloneFaults } from './standalone-faults.ts';

const FILE = '/etc/kubelet.yaml';
const HEADER = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const OFF = 'authentication: {webhook: {enabled: false}}\nauthorization: {mode: AlwaysAllow}\n';
const AUTHENTICATION =
  'error authentication.webhook.enabled: no client provided, cannot use webhook authentication: set it to false, or give --kubeconfig';
const AUTHORIZATION =
  'error authorization.mode: no client provided, cannot use webhook authorization: set it to AlwaysAllow, or give --kubeconfig';

const cases: Record<string, { flags: string[]; file?: string; told: string[] }> = {
  'refuses the defaults of a configuration file': {
    flags: [`--config=${FILE}`],
    told: [AUTHENTICATION, AUTHORIZATION],
  },
  'takes them in a cluster': { flags: [`--config=${FILE}`, '--kubeconfig=/etc/kubelet.conf'], told: [] },
  'takes a file that asks nobody': { flags: [`--config=${FILE}`], file: OFF, told: [] },
  'takes what flags say instead': {
    flags: [`--config=${FILE}`, '--authentication-token-webhook=false', '--authorization-mode=AlwaysAllow'],
    told: [],
  },
  'has other defaults where there is no file': { flags: [], told: [] },
  'refuses what a flag asks for there': { flags: ['--authorization-mode=Webhook'], told: [AUTHORIZATION] },
  'refuses also where nothing is served': {
    flags: [`--config=${FILE}`, '--enable-server=false', '--authorization-mode=AlwaysAllow'],
    told: [AUTHENTICATION],
  },
};

for (const [name, { flags, file = '', told }] of Object.entries(cases)) {
  test(`standaloneFaults() ${name}`, async () => {
    const fs = new MemoryFileSystem(() => 0);
    await fs.makeDirectory('/etc');
    await fs.writeFile(FILE, `${HEADER}${file}`);
    const { settings } = await loadKubeletConfig(flags, { fs, hostname: 'box' }, new AbortController().signal);
    const faults = standaloneFaults(settings).map((fault) => `${fault.severity} ${formatProblem(fault)}`);
    assert.deepEqual(faults, told);
  });
}

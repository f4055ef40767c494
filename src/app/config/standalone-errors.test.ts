import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { formatDiagnostic } from './config-diagnostic.ts';
import { loadKubeletConfig } from './load-config.ts';
import { standaloneErrors } from './standalone-errors.ts';

const FILE = '/etc/kubelet.yaml';
const HEADER = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const OFF = 'authentication: {webhook: {enabled: false}}\nauthorization: {mode: AlwaysAllow}\n';
const AUTHENTICATION =
  'error authentication.webhook.enabled: no client provided, cannot use webhook authentication: set it to false, or give --kubeconfig';
const AUTHORIZATION =
  'error authorization.mode: no client provided, cannot use webhook authorization: set it to AlwaysAllow, or give --kubeconfig';

const cases: Record<string, { flags: string[]; file?: string; expected: string[] }> = {
  'refuses the defaults of a configuration file': {
    flags: [`--config=${FILE}`],
    expected: [AUTHENTICATION, AUTHORIZATION],
  },
  'takes them in a cluster': { flags: [`--config=${FILE}`, '--kubeconfig=/etc/kubelet.conf'], expected: [] },
  'accepts a file without webhooks': { flags: [`--config=${FILE}`], file: OFF, expected: [] },
  'takes what flags say instead': {
    flags: [`--config=${FILE}`, '--authentication-token-webhook=false', '--authorization-mode=AlwaysAllow'],
    expected: [],
  },
  'has other defaults where there is no file': { flags: [], expected: [] },
  'refuses what a flag asks for there': { flags: ['--authorization-mode=Webhook'], expected: [AUTHORIZATION] },
  'refuses also where nothing is served': {
    flags: [`--config=${FILE}`, '--enable-server=false', '--authorization-mode=AlwaysAllow'],
    expected: [AUTHENTICATION],
  },
};

for (const [name, { flags, file = '', expected }] of Object.entries(cases)) {
  test(`standaloneErrors() ${name}`, async () => {
    const fs = new MemoryFileSystem(() => 0);
    await fs.makeDirectory('/etc');
    await fs.writeFile(FILE, `${HEADER}${file}`);
    const { settings } = await loadKubeletConfig(flags, { fs, hostname: 'box' }, new AbortController().signal);
    const messages = standaloneErrors(settings).map((message) => `${message.severity} ${formatDiagnostic(message)}`);
    assert.deepEqual(messages, expected);
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFlags } from './parse-flags.ts';

/** As kubelet v1.36.4 shows them in `/flagz`, with the flags of the test. */
const TEXTS: readonly (readonly [flag: string, given: readonly string[], text: string])[] = [
  ['v', [], '0'],
  ['help', [], 'false'],
  ['version', [], 'false'],
  ['address', [], '0.0.0.0'],
  ['anonymous-auth', [], 'true'],
  ['authorization-mode', [], 'AlwaysAllow'],
  ['read-only-port', [], '10255'],
  ['eviction-hard', [], ''],
  ['allowed-unsafe-sysctls', [], '[]'],
  ['enforce-node-allocatable', [], '[pods]'],
  ['event-storage-age-limit', [], 'default=0'],
  ['machine-id-file', [], '/etc/machine-id,/var/lib/dbus/machine-id'],
  ['minimum-container-ttl-duration', [], '0s'],
  ['cluster-dns', ['--cluster-dns=10.0.0.10', '--cluster-dns=10.0.0.11'], '[10.0.0.10,10.0.0.11]'],
  ['anonymous-auth', ['--anonymous-auth=false'], 'false'],
  ['feature-gates', ['--feature-gates=MemoryQoS=true,EnvFiles=false'], 'EnvFiles=false,MemoryQoS=true'],
  [
    'eviction-hard',
    ['--eviction-hard=nodefs.available<5%,memory.available<1Gi'],
    'memory.available<1Gi,nodefs.available<5%',
  ],
  ['node-labels', ['--node-labels=b=2,a=1'], 'a=1,b=2'],
  ['manifest-url-header', ['--manifest-url-header=a:1,a:2'], 'a:1,a:2'],
  ['vmodule', ['--vmodule=server=4,dra=2'], 'server=4,dra=2'],
  ['sync-frequency', ['--sync-frequency=90s'], '1m30s'],
  ['register-with-taints', ['--register-with-taints=a=b:NoSchedule'], 'a=b:NoSchedule'],
];

for (const [flag, given, text] of TEXTS) {
  test(`flagTexts(): ${flag} ${given.length === 0 ? 'without flags' : `with ${given.join(' ')}`} is "${text}"`, () => {
    assert.equal(parseFlags(given).texts[flag], text);
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseQuantity } from '../../base/quantity.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { formatDiagnostic } from './config-diagnostic.ts';
import type { KubeletConfiguration } from './generated/kubelet-configuration.ts';
import { STRUCTS } from './generated/kubelet-configuration-schema.ts';
import { DEFAULT_FLAGS } from './kubelet-flags.ts';
import { type LoadedConfig, loadKubeletConfig } from './load-config.ts';
import { mergeConfig } from './merge-config.ts';

const HEADER = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const DEFAULTS = mergeConfig({ file: {}, dropIns: [], flags: [] });

async function load(args: readonly string[], files: Readonly<Record<string, string>> = {}): Promise<LoadedConfig> {
  const fs = new MemoryFileSystem(() => 0);
  for (const [path, text] of Object.entries(files)) {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  return loadKubeletConfig(args, { fs, hostname: 'Box.Local\n' }, new AbortController().signal);
}

test('loadKubeletConfig() takes the defaults without flags and files', async () => {
  const { settings, diagnostics } = await load(['--kubeconfig=/k']);
  assert.deepEqual(diagnostics, []);
  assert.deepEqual(settings.config, DEFAULTS);
  assert.deepEqual(settings.flags, { ...DEFAULT_FLAGS, kubeconfig: '/k' });
  assert.equal(settings.nodeName, 'box.local');
  assert.equal(settings.featureGates.get('KubeletCrashLoopBackOffMax'), true);
});

test('loadKubeletConfig() asks no API server about clients where it knows of none and no file says so', async () => {
  const { authentication, authorization } = (await load([])).settings.config;
  assert.deepEqual([authentication.anonymous.enabled, authentication.webhook.enabled], [false, false]);
  assert.equal(authorization.mode, 'AlwaysAllow');
});

test('loadKubeletConfig() offers the texts as values', async () => {
  const { parsed } = (
    await load(['--system-reserved=cpu=500m', '--reserved-cpus=0-1', '--eviction-hard=pid.available<5%'])
  ).settings;
  assert.deepEqual(parsed, {
    ms: {
      syncFrequency: 60_000,
      fileCheckFrequency: 20_000,
      httpCheckFrequency: 20_000,
      'authentication.webhook.cacheTTL': 120_000,
      'authorization.webhook.cacheAuthorizedTTL': 300_000,
      'authorization.webhook.cacheUnauthorizedTTL': 30_000,
      streamingConnectionIdleTimeout: 14_400_000,
      nodeStatusUpdateFrequency: 10_000,
      nodeStatusReportFrequency: 300_000,
      imageMinimumGCAge: 120_000,
      imageMaximumGCAge: 0,
      volumeStatsAggPeriod: 60_000,
      cpuManagerReconcilePeriod: 10_000,
      runtimeRequestTimeout: 120_000,
      cpuCFSQuotaPeriod: 100,
      evictionPressureTransitionPeriod: 300_000,
      containerLogMonitorInterval: 10_000,
      'logging.flushFrequency': 5000,
      shutdownGracePeriod: 0,
      shutdownGracePeriodCriticalPods: 0,
      'crashLoopBackOff.maxContainerRestartPeriod': 300_000,
    },
    containerLogMaxBytes: 10 * 1024 * 1024,
    evictionThresholds: [{ signal: 'pid.available', value: { fraction: 0.05 }, gracePeriodMs: 0 }],
    systemReserved: new Map([['cpu', parseQuantity('500m')]]),
    kubeReserved: new Map(),
    reservedCpus: [0, 1],
  });
});

const cases: Record<
  string,
  { args: string[]; files: Record<string, string>; changed: Partial<KubeletConfiguration>; diagnostics?: string[] }
> = {
  'lets flags win over drop-ins, drop-ins over the file': {
    args: ['--config=/etc/k.yaml', '--config-dir=/etc/k.d', '--port=3'],
    files: {
      '/etc/k.yaml': `${HEADER}maxPods: 1\nport: 1\nhealthzPort: 1\n`,
      '/etc/k.d/10-a.conf': `${HEADER}port: 2\nhealthzPort: 2\n`,
    },
    changed: { maxPods: 1, healthzPort: 2, port: 3 },
  },
  'reads drop-ins in lexical order, folders in their turn, and only those that end in .conf': {
    args: ['--config-dir=/k.d'],
    files: {
      '/k.d/10.conf': `${HEADER}clusterDomain: a\nproviderID: first\n`,
      '/k.d/20/x.conf': `${HEADER}clusterDomain: b\npodCIDR: 10.1.0.0/16\n`,
      '/k.d/30.conf': `${HEADER}clusterDomain: c\n`,
      '/k.d/40.yaml': 'not read',
    },
    changed: { clusterDomain: 'c', providerID: 'first', podCIDR: '10.1.0.0/16' },
  },
  'starts relative paths at the folder of the file': {
    args: ['--config=/etc/kubernetes/k.yaml'],
    files: {
      '/etc/kubernetes/k.yaml': `${HEADER}staticPodPath: manifests\ntlsCertFile: /abs//c.crt\nauthentication: {x509: {clientCAFile: ../ca.crt}}\n`,
    },
    changed: {
      staticPodPath: '/etc/kubernetes/manifests',
      tlsCertFile: '/abs//c.crt',
      authentication: { ...DEFAULTS.authentication, x509: { clientCAFile: '/etc/ca.crt' } },
    },
  },
  'starts relative paths of flags where it runs': {
    args: ['--pod-manifest-path=manifests'],
    files: {},
    changed: { staticPodPath: `${process.cwd()}/manifests` },
  },
  'continues without invalid fields and reports all of them': {
    args: ['--config=/k.yaml', '--config-dir=/k.d', '--bogus', '--feature-gates=Bogus=true', '--containerd=x'],
    files: {
      '/k.yaml': `${HEADER}maxpods: 1\nport: x\nclusterDNS: [dns]\nimageGCLowThresholdPercent: 90\n`,
      '/k.d/10.conf': 'port: 1\n',
    },
    changed: {
      port: 1,
      clusterDNS: ['dns'],
      imageGCLowThresholdPercent: 90,
      featureGates: { Bogus: true },
    },
    diagnostics: [
      'error unknown flag: --bogus',
      'warning flag --containerd has no meaning in Nodelet and is ignored',
      'warning /k.yaml:3:1: maxpods: unknown field "maxpods" is ignored; did you mean "maxPods"?',
      'error /k.yaml:4:7: port: expected a whole number between -2147483648 and 2147483647, got the string "x"',
      'error /k.d/10.conf:1:1: apiVersion: expected "kubelet.config.k8s.io/v1beta1", found none',
      'error /k.d/10.conf:1:1: kind: expected "KubeletConfiguration", found none',
      'error featureGates["Bogus"]: unrecognized feature gate: Bogus',
      'error invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) 90 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 85',
      'warning clusterDNS: Invalid clusterDNS IP "dns" is ignored',
    ],
  },
  'reports missing files': {
    args: ['--config=/k.yaml', '--config-dir=/k.d'],
    files: {},
    changed: {},
    diagnostics: [
      'error /k.yaml: failed to read kubelet config file "/k.yaml", error: readText /k.yaml: ENOENT',
      'error /k.d: failed to walk through kubelet dropin directory "/k.d": readDirectory /k.d: ENOENT',
    ],
  },
  'reads no file when it is asked for help': { args: ['--help', '--config=/k.yaml'], files: {}, changed: {} },
};

for (const [name, { args, files, changed, diagnostics = [] }] of Object.entries(cases)) {
  test(`loadKubeletConfig() ${name}`, async () => {
    const loaded = await load([...args, '--kubeconfig=/k'], files);
    const expected = loaded.diagnostics.map((diagnostic) => `${diagnostic.severity} ${formatDiagnostic(diagnostic)}`);
    assert.deepEqual(
      { config: loaded.settings.config, expected },
      { config: { ...DEFAULTS, ...changed }, expected: diagnostics },
    );
  });
}

test('loadKubeletConfig() makes the paths of flags absolute', async () => {
  const { flags } = (await load(['--root-dir=state', '--kubeconfig=/etc/k/../kc'])).settings;
  assert.deepEqual(flags, { ...DEFAULT_FLAGS, rootDir: `${process.cwd()}/state`, kubeconfig: '/etc/kc' });
});

test('loadKubeletConfig() names the node as the flag says', async () => {
  assert.equal((await load(['--hostname-override=N1'])).settings.nodeName, 'n1');
});

test('loadKubeletConfig() rejects only when it is expected to stop', async () => {
  const fs = new MemoryFileSystem(() => 0);
  const signal = AbortSignal.abort(new Error('stop'));
  await assert.rejects(loadKubeletConfig(['--config=/k.yaml'], { fs, hostname: 'box' }, signal), { message: 'stop' });
});

test('loadKubeletConfig() never rejects for what files say', async () => {
  const field = fc.constantFrom(...[...STRUCTS.KubeletConfiguration.keys()]);
  const text = fc.constantFrom('', '0s', '1h', '-1s', '10%', '1Gi', 'x', '\u0000');
  const key = fc.constantFrom(
    'memory',
    'memory.available',
    'limits',
    'filePattern',
    'webhook',
    'x509',
    '__proto__',
    '<<',
  );
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(key, tie('any'), { maxKeys: 3 }),
    ),
  })).any;
  const document = fc.dictionary(field, value, { maxKeys: 8 });
  const check = fc.asyncProperty(document, document, async (file, dropIn) => {
    const header = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
    await load(['--config=/k.yaml', '--config-dir=/k.d'], {
      '/k.yaml': JSON.stringify({ ...header, ...file }),
      '/k.d/1.conf': JSON.stringify({ ...header, ...dropIn }),
    });
  });
  await fc.assert(check, { numRuns: 300 });
});

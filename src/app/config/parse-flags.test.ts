import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLAGS, type FlagKind } from './generated/flags.ts';
import { DEFAULT_FLAGS, type KubeletFlags } from './kubelet-flags.ts';
import { parseFlags } from './parse-flags.ts';

function fieldsOf(args: readonly string[]): Record<string, unknown> {
  const { fields, diagnostics } = parseFlags(args);
  assert.deepEqual(diagnostics, []);
  return Object.fromEntries(fields.map(({ path, value }) => [path.join('.'), value]));
}

const fields: Record<string, { args: string[]; fields: Record<string, unknown> }> = {
  'takes a value behind an equals sign or as the next word': {
    args: ['--max-pods=5', '--port', '99'],
    fields: { maxPods: 5, port: 99 },
  },
  'takes underscores for dashes': { args: ['--max_pods=5'], fields: { maxPods: 5 } },
  'takes a truth value only behind an equals sign': {
    args: ['--fail-swap-on=false', '--register-node', '--enable-server=F'],
    fields: { failSwapOn: false, registerNode: true, enableServer: false },
  },
  'takes the verbosity in each way': { args: ['-v', '4'], fields: { 'logging.verbosity': 4 } },
  'takes the verbosity without a space': { args: ['-v4'], fields: { 'logging.verbosity': 4 } },
  'takes the verbosity with an equals sign': { args: ['-v=4'], fields: { 'logging.verbosity': 4 } },
  'takes the long verbosity': { args: ['--v=4'], fields: { 'logging.verbosity': 4 } },
  'lets the last one of a flag win': { args: ['--port=1', '--port=2'], fields: { port: 2 } },
  'adds up lists': {
    args: ['--cluster-dns=10.0.0.1,10.0.0.2', '--cluster-dns', '10.0.0.3'],
    fields: { clusterDNS: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] },
  },
  'keeps commas between quotes': {
    args: ['--allowed-unsafe-sysctls="a,b",c'],
    fields: { allowedUnsafeSysctls: ['a,b', 'c'] },
  },
  'adds up maps': {
    args: ['--system-reserved=cpu=200m, memory=500Mi', '--system-reserved=pid=9'],
    fields: { systemReserved: { cpu: '200m', memory: '500Mi', pid: '9' } },
  },
  'reads thresholds with a less-than sign': {
    args: ['--eviction-hard=memory.available<1Gi,nodefs.available<10%'],
    fields: { evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%' } },
  },
  'takes one policy option at a time': {
    args: ['--cpu-manager-policy-options=a=1,2', '--cpu-manager-policy-options=b=3'],
    fields: { cpuManagerPolicyOptions: { a: '1,2', b: '3' } },
  },
  'collects headers': {
    args: ['--manifest-url-header=a:hello,b:again', '--manifest-url-header=b:beautiful'],
    fields: { staticPodURLHeader: { a: ['hello'], b: ['again', 'beautiful'] } },
  },
  'reads durations, sizes and numbers of other bases': {
    args: ['--sync-frequency=90s', '--log-json-info-buffer-size=2048Ki', '--max-open-files=0x10', '--max-pods=010'],
    fields: { syncFrequency: '1m30s', 'logging.options.json.infoBufferSize': '2Mi', maxOpenFiles: 16, maxPods: 8 },
  },
  'reads taints and reserved memory': {
    args: [
      '--register-with-taints=a=b:NoSchedule,c:NoExecute',
      '--reserved-memory=0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1024Mi',
    ],
    fields: {
      registerWithTaints: [
        { key: 'a', value: 'b', effect: 'NoSchedule' },
        { key: 'c', value: '', effect: 'NoExecute' },
      ],
      reservedMemory: [
        { numaNode: 0, limits: { memory: '1Gi', 'hugepages-1Gi': '2Gi' } },
        { numaNode: 1, limits: { memory: '1Gi' } },
      ],
    },
  },
  'reads the verbosity of files': {
    args: ['--vmodule=a*=3,', '--vmodule=b=1'],
    fields: {
      'logging.vmodule': [
        { filePattern: 'a*', verbosity: 3 },
        { filePattern: 'b', verbosity: 1 },
      ],
    },
  },
  'turns the default seccomp profile on, never off': {
    args: ['--seccomp-default=false'],
    fields: {},
  },
  'reads feature gates': {
    args: ['--feature-gates=MemoryQoS=true,PodsAPI=f', '--feature-gates', 'AllBeta=1'],
    fields: { featureGates: { MemoryQoS: true, PodsAPI: false, AllBeta: true } },
  },
};

for (const [name, { args, fields: expected }] of Object.entries(fields)) {
  test(`parseFlags() ${name}`, () => {
    assert.deepEqual(fieldsOf(args), expected);
  });
}

const own: Record<string, { args: string[]; flags: Partial<KubeletFlags> }> = {
  'has defaults for flags of their own': { args: [], flags: {} },
  'reads the files and names of this node': {
    args: ['--config=/k', '--config-dir', '/k.d', '--kubeconfig=/kc', '--hostname-override=N1', '--node-ip=10.0.0.1'],
    flags: { config: '/k', configDir: '/k.d', kubeconfig: '/kc', hostnameOverride: 'N1', nodeIp: '10.0.0.1' },
  },
  'takes empty text for no flag': { args: ['--kubeconfig=', '--cloud-provider='], flags: {} },
  'adds up node labels, with and without values': {
    args: ['--node-labels=a=b,c', '--node-labels=d=e=f'],
    flags: { nodeLabels: { a: 'b', c: '', d: 'e=f' } },
  },
  'gives durations in milliseconds': {
    args: ['--minimum-container-ttl-duration=1m30s'],
    flags: { minimumContainerTtlMs: 90_000 },
  },
  'takes -h for help': { args: ['-h'], flags: { help: true } },
  'takes letters in one word': { args: ['-hv3'], flags: { help: true } },
  'knows two versions': { args: ['--version'], flags: { version: true } },
  'knows the raw version': { args: ['--version=raw'], flags: { version: 'raw' } },
};

for (const [name, { args, flags }] of Object.entries(own)) {
  test(`parseFlags() ${name}`, () => {
    const parsed = parseFlags(args);
    assert.deepEqual(
      { flags: parsed.flags, diagnostics: parsed.diagnostics },
      { flags: { ...DEFAULT_FLAGS, ...flags }, diagnostics: [] },
    );
  });
}

const mistakes: Record<string, { args: string[]; messages: string[] }> = {
  'refuses an unknown flag, and takes the next word for its value': {
    args: ['--foo', 'bar', '--baz=1', '--port=x'],
    messages: [
      'unknown flag: --foo',
      'unknown flag: --baz',
      'invalid argument "x" for "--port" flag: strconv.ParseInt: parsing "x": invalid syntax',
    ],
  },
  'names the flag that was meant': {
    args: ['--fail-swapon=false', '--kube-config=/k'],
    messages: [
      'unknown flag: --fail-swapon; did you mean "--fail-swap-on"?',
      'unknown flag: --kube-config; did you mean "--kubeconfig"?',
    ],
  },
  'refuses unknown letters': { args: ['-x'], messages: ["unknown shorthand flag: 'x' in -x"] },
  'refuses words without a flag': {
    args: ['run', '--', '--port=1'],
    messages: ['unknown command run', 'unknown command --port=1'],
  },
  'refuses dashes without a name': {
    args: ['--=1', '---x'],
    messages: ['bad flag syntax: --=1', 'bad flag syntax: ---x'],
  },
  'misses a value': { args: ['--port'], messages: ['flag needs an argument: --port'] },
  'misses a value of a letter': { args: ['-v'], messages: ["flag needs an argument: 'v' in -v"] },
  'refuses a value of a letter': {
    args: ['-v=x'],
    messages: ['invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax'],
  },
  'refuses a number that does not fit': {
    args: ['--max-pods=2147483648'],
    messages: [
      'invalid argument "2147483648" for "--max-pods" flag: strconv.ParseInt: parsing "2147483648": value out of range',
    ],
  },
  'refuses wrong values of each form': {
    args: [
      '--register-node=maybe',
      '--sync-frequency=5',
      '--address=localhost',
      '--kube-reserved=cpu',
      '--eviction-soft=memory.available=1Gi',
      '--manifest-url-header=a',
      '--feature-gates=MemoryQoS',
      '--feature-gates=MemoryQoS=perhaps',
      '--vmodule=a',
    ],
    messages: [
      'invalid argument "maybe" for "--register-node" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
      'invalid argument "5" for "--sync-frequency" flag: time: missing unit in duration "5"',
      'invalid argument "localhost" for "--address" flag: "localhost" is not a valid IP address',
      'invalid argument "cpu" for "--kube-reserved" flag: malformed pair, expect string=string',
      'invalid argument "memory.available=1Gi" for "--eviction-soft" flag: malformed pair, expect string<string',
      'invalid argument "a" for "--manifest-url-header" flag: malformed pair, expect string:string',
      'invalid argument "MemoryQoS" for "--feature-gates" flag: malformed pair, expect string=bool',
      'invalid argument "MemoryQoS=perhaps" for "--feature-gates" flag: invalid value of MemoryQoS: perhaps, err: strconv.ParseBool: parsing "perhaps": invalid syntax',
      'invalid argument "a" for "--vmodule" flag: "a" does not have the pattern=N format',
    ],
  },
};

for (const [name, { args, messages }] of Object.entries(mistakes)) {
  test(`parseFlags() ${name}`, () => {
    const { diagnostics } = parseFlags(args);
    assert.deepEqual(
      diagnostics.map(({ message }) => message),
      messages,
    );
    assert.ok(diagnostics.every(({ severity }) => severity === 'error'));
  });
}

const SAMPLES: Record<FlagKind, string> = {
  bool: 'true',
  duration: '1m0s',
  int32: '7',
  int64: '7',
  ip: '::1',
  labels: 'a=b',
  level: '3',
  map: 'a=b',
  mapByLess: 'a<b',
  mapOfBool: 'MemoryQoS=true',
  mapOfOne: 'a=b',
  multimap: 'a:b',
  quantity: '1Mi',
  reservedMemory: '0:memory=1Gi',
  string: 'text',
  strings: 'a,b',
  taints: 'a=b:NoSchedule',
  version: 'true',
  vmodule: 'a=1',
};

for (const { name, kind, meaning } of FLAGS) {
  test(`parseFlags() takes --${name} for what it is`, () => {
    const parsed = parseFlags([`--${name}=${SAMPLES[kind]}`]);
    const expected = parsed.diagnostics.map(({ severity, message }) => `${severity}: ${message}`);
    const ignored = `warning: flag --${name} has no meaning in Nodelet and is ignored`;
    assert.deepEqual(expected, meaning.class === 'none' ? [ignored] : []);
    assert.equal(parsed.fields.length, meaning.class === 'field' ? 1 : 0);
    if (meaning.class === 'own') assert.notDeepEqual(parsed.flags, DEFAULT_FLAGS);
    else assert.deepEqual(parsed.flags, DEFAULT_FLAGS);
  });
}

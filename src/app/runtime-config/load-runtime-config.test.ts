import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { DEFAULT_HANDLER, type HandlerSettings } from '../../runtime/settings/runtime-settings.ts';
import { formatDiagnostic } from '../config/config-diagnostic.ts';
import { loadRuntimeConfig } from './load-runtime-config.ts';
import type { RuntimeConfiguration, RuntimeFlags } from './runtime-configuration.ts';

const signal = new AbortController().signal;
const FILE = '/etc/nodelet/runtime.yaml';
const HEADER = 'apiVersion: runtime.nodelet.io/v1alpha1\nkind: RuntimeConfiguration\n';

const FLAGS: RuntimeFlags = {
  config: FILE,
  given: new Set(),
  programs: new Map(),
  rootDir: '/var/lib/nodelet',
  stateDir: '/run/nodelet',
  listen: 'unix:///run/nodelet/cri.sock',
  cniConfDir: '/etc/cni/net.d',
  cniBinDirs: ['/opt/cni/bin'],
  nriSocket: undefined,
  metricsListen: undefined,
  registryConfigDirs: ['/etc/containerd/certs.d'],
  cgroupDriver: 'cgroupfs',
  verbosity: 0,
};
const { config: _, given: __, programs: ___, ...FIELDS } = FLAGS;
const DEFAULTS: RuntimeConfiguration = { ...FIELDS, cniMaxConfNum: 1, handlers: new Map() };

interface Given {
  /** Behind the header; `undefined`: there is no file. */
  readonly fields?: string | undefined;
  /** The whole file instead. */
  readonly text?: string;
  readonly flags?: Partial<RuntimeFlags>;
  readonly cgroupVersion?: 'v1' | 'v2';
}

async function load({ fields, text, flags, cgroupVersion = 'v1' }: Given) {
  const fs = new MemoryFileSystem(() => 0);
  for (const folder of ['/etc/nodelet', '/usr/bin', '/opt']) await fs.makeDirectory(folder);
  for (const program of ['crun', 'runc', 'kata']) await fs.writeFile(`/usr/bin/${program}`, '', { mode: 0o755 });
  await fs.writeFile('/opt/notes', '', { mode: 0o644 });
  await fs.writeFile('/etc/nodelet/base.json', '{"process":{"env":["A=1"]}}');
  const content = text ?? (fields === undefined ? undefined : HEADER + fields);
  if (content !== undefined) await fs.writeFile(FILE, content);
  const { config, diagnostics } = await loadRuntimeConfig({ ...FLAGS, ...flags }, { fs, cgroupVersion }, signal);
  return { config, errors: diagnostics.map(formatDiagnostic) };
}

const handler = (settings: Partial<HandlerSettings>): HandlerSettings => ({ ...DEFAULT_HANDLER, ...settings });
const kata = (fields: string): string => `runtimeHandlers:\n  kata: {${fields}}`;
const handlers = (...all: [string, Partial<HandlerSettings>][]) => ({
  handlers: new Map(all.map(([name, settings]) => [name, handler(settings)])),
});

const accepted: Record<string, Given & { readonly config: Partial<RuntimeConfiguration> }> = {
  'an empty configuration': { fields: '', config: {} },
  'every field that has a flag': {
    fields: `rootDir: /r
stateDir: /s
listen: unix:///x.sock
cniConfDir: /c
cniBinDirs: [/a, /b]
cniMaxConfNum: 0
nriSocket: /n.sock
metricsListen: '[::1]:1338'
registryConfigDirs: [/d]
cgroupDriver: systemd
verbosity: 4`,
    config: {
      rootDir: '/r',
      stateDir: '/s',
      listen: 'unix:///x.sock',
      cniConfDir: '/c',
      cniBinDirs: ['/a', '/b'],
      cniMaxConfNum: 0,
      nriSocket: '/n.sock',
      metricsListen: { host: '::1', port: 1338 },
      registryConfigDirs: ['/d'],
      cgroupDriver: 'systemd',
      verbosity: 4,
    },
  },
  'flags that were given, over the file': {
    fields: 'rootDir: /r\nstateDir: /s\nverbosity: 4',
    flags: { rootDir: '/flag', given: new Set(['rootDir', 'verbosity']) },
    config: { rootDir: '/flag', stateDir: '/s', verbosity: 0 },
  },
  'flags without a file': {
    flags: { config: undefined, programs: new Map([['k', '/usr/bin/kata']]) },
    config: handlers(['k', { program: '/usr/bin/kata' }]),
  },
  'relative paths, from the folder of the file': {
    fields: 'rootDir: root\ncniBinDirs: [../cni]',
    config: { rootDir: '/etc/nodelet/root', cniBinDirs: ['/etc/cni'] },
  },
  'null as absent': { fields: 'rootDir: null\nruntimeHandlers: null\nverbosity: ~', config: {} },
  JSON: {
    text: '{"apiVersion":"runtime.nodelet.io/v1alpha1","kind":"RuntimeConfiguration","verbosity":3}',
    config: { verbosity: 3 },
  },
  'every field of a handler': {
    fields: `runtimeHandlers:
  kata:
    runtimePath: /usr/bin/kata
    runtimeRoot: /run/kata
    cgroupDriver: systemd
    cgroupWritable: true
    privilegedWithoutHostDevices: true
    privilegedWithoutHostDevicesAllDevicesAllowed: true
    podAnnotations: [io.katacontainers.*]
    containerAnnotations: ["example.com/[a-c]?"]
    cniConfDir: /etc/cni/kata.d
    cniMaxConfNum: 2
    baseRuntimeSpec: base.json`,
    cgroupVersion: 'v2',
    config: handlers([
      'kata',
      {
        program: '/usr/bin/kata',
        runtimeRoot: '/run/kata',
        cgroupDriver: 'systemd',
        cgroupWritable: true,
        privilegedDevices: 'requestedWithAllAllowed',
        podAnnotations: ['io.katacontainers.*'],
        containerAnnotations: ['example.com/[a-c]?'],
        network: { confDir: '/etc/cni/kata.d', maxConfigs: 2 },
        baseSpec: { rlimits: [], env: ['A=1'], annotations: {}, hooks: undefined },
      },
    ]),
  },
  'handlers without settings': {
    fields: 'runtimeHandlers:\n  plain: {}\n  empty:\n  false: {cgroupWritable: false}',
    config: handlers(['plain', {}], ['empty', {}], ['false', {}]),
  },
  'privileged containers without host devices': {
    fields: kata('privilegedWithoutHostDevices: true, cniConfDir: net.d'),
    config: handlers([
      'kata',
      { privilegedDevices: 'requested', network: { confDir: '/etc/nodelet/net.d', maxConfigs: undefined } },
    ]),
  },
  'a default handler, also under its name': {
    fields: `defaultRuntimeHandler: kata\n${kata('runtimePath: /usr/bin/kata')}`,
    config: handlers(['', { program: '/usr/bin/kata' }], ['kata', { program: '/usr/bin/kata' }]),
  },
  'a program of a flag, with the other settings of the file': {
    fields: `defaultRuntimeHandler: kata\n${kata('runtimePath: /gone, runtimeRoot: /run/kata')}`,
    flags: { programs: new Map([['kata', '/usr/bin/kata']]) },
    config: handlers(
      ['', { program: '/usr/bin/kata', runtimeRoot: '/run/kata' }],
      ['kata', { program: '/usr/bin/kata', runtimeRoot: '/run/kata' }],
    ),
  },
  'a default handler of a flag': {
    fields: 'defaultRuntimeHandler: k',
    flags: { programs: new Map([['k', '/usr/bin/kata']]) },
    config: handlers(['', { program: '/usr/bin/kata' }], ['k', { program: '/usr/bin/kata' }]),
  },
};

for (const [what, { config, ...given }] of Object.entries(accepted)) {
  test(`loadRuntimeConfig() accepts ${what}`, async () => {
    assert.deepEqual(await load(given), { config: { ...DEFAULTS, ...config }, errors: [] });
  });
}

const IN_KATA = 'runtimeHandlers["kata"]';

const refused: Record<string, Given & { readonly errors: readonly string[] }> = {
  'a missing file': {
    errors: [`${FILE}: cannot read runtime config file: readText ${FILE}: ENOENT`],
  },
  'an empty file': { text: '\n', errors: [`${FILE}: runtime config file "${FILE}" was empty`] },
  'another kind': {
    text: 'apiVersion: v1\nkind: Pod\nspec: {}',
    errors: [
      `${FILE}:1:13: apiVersion: expected "runtime.nodelet.io/v1alpha1", found "v1"`,
      `${FILE}:2:7: kind: expected "RuntimeConfiguration", found "Pod"`,
    ],
  },
  'a list': {
    text: '- a',
    errors: [`${FILE}:1:1: expected a map, got a list`],
  },
  'a second document': {
    fields: 'verbosity: 1\n---\nverbosity: 2',
    errors: [`${FILE}:5:1: expected one document`],
  },
  'an unknown field, with the closest name': {
    fields: 'cniConfigDir: /c\nrootdir: /r',
    errors: [
      `${FILE}:3:1: cniConfigDir: unknown field "cniConfigDir"`,
      `${FILE}:4:1: rootdir: unknown field "rootdir"; did you mean "rootDir"?`,
    ],
  },
  'an unknown field of a handler, with the closest name': {
    fields: kata('runtimepath: /usr/bin/kata, snapshotter: devmapper'),
    errors: [
      `${FILE}:4:10: ${IN_KATA}.runtimepath: unknown field "runtimepath"; did you mean "runtimePath"?`,
      `${FILE}:4:38: ${IN_KATA}.snapshotter: unknown field "snapshotter"`,
    ],
  },
  'a handler that stands twice': {
    fields: 'runtimeHandlers:\n  kata: {}\n  kata: {}',
    errors: [`${FILE}:5:3: the key "kata" stands twice in one map`],
  },
  'wrong types': {
    fields: `verbosity: high\ncniBinDirs: /a\nruntimeHandlers:\n  kata: {cgroupWritable: "no", podAnnotations: [1]}\n  x: 3`,
    errors: [
      `${FILE}:3:12: verbosity: expected a whole number between -2147483648 and 2147483647, got the string "high"`,
      `${FILE}:4:13: cniBinDirs: expected a list, got the string "/a"`,
      `${FILE}:6:26: ${IN_KATA}.cgroupWritable: expected true or false, got the string "no"`,
      `${FILE}:6:49: ${IN_KATA}.podAnnotations[0]: expected a string, got the number 1`,
      `${FILE}:7:6: runtimeHandlers["x"]: expected a map, got the number 3`,
    ],
  },
  'wrong values': {
    fields:
      'listen: /run/x.sock\ncgroupDriver: sytemd\nverbosity: -1\nrootDir: ""\ncniBinDirs: [/a, ""]\ncniMaxConfNum: -1',
    errors: [
      `${FILE}: rootDir: must not be empty`,
      `${FILE}: listen: expected a socket such as unix:///run/nodelet/cri.sock, got "/run/x.sock"`,
      `${FILE}: cniBinDirs[1]: must not be empty`,
      `${FILE}: cniMaxConfNum: must not be negative, got -1`,
      `${FILE}: cgroupDriver: expected "cgroupfs" or "systemd", got "sytemd"; did you mean "systemd"?`,
      `${FILE}: verbosity: must not be negative, got -1`,
    ],
  },
  'wrong values of a handler': {
    fields: kata('cgroupDriver: none, cniMaxConfNum: 1, privilegedWithoutHostDevicesAllDevicesAllowed: true'),
    errors: [
      `${FILE}: ${IN_KATA}.cgroupDriver: expected "cgroupfs" or "systemd", got "none"`,
      `${FILE}: ${IN_KATA}.privilegedWithoutHostDevicesAllDevicesAllowed: requires privilegedWithoutHostDevices to be true`,
      `${FILE}: ${IN_KATA}.cniMaxConfNum: requires cniConfDir`,
    ],
  },
  'the name of no handler': {
    fields: 'runtimeHandlers: {"": {}, a/b: {}}',
    errors: [
      `${FILE}: runtimeHandlers: invalid name "": expected letters, digits, "-" and "."`,
      `${FILE}: runtimeHandlers: invalid name "a/b": expected letters, digits, "-" and "."`,
    ],
  },
  'patterns that match nothing, or annotations of crun': {
    fields: kata('podAnnotations: ["[a", ""], containerAnnotations: [run.oci.*]'),
    errors: [
      `${FILE}: ${IN_KATA}.podAnnotations[0]: "[a": syntax error in pattern`,
      `${FILE}: ${IN_KATA}.podAnnotations[1]: must not be empty`,
      `${FILE}: ${IN_KATA}.containerAnnotations[0]: "run.oci.*": annotations of crun (run.oci.*) can disable seccomp and are never passed on`,
    ],
  },
  'a default handler that is not configured, with the closest name': {
    fields: `defaultRuntimeHandler: katta\n${kata('')}`,
    errors: [`${FILE}: defaultRuntimeHandler: no runtime handler "katta" is configured; did you mean "kata"?`],
  },
  'programs that are missing or not executable': {
    fields: `runtimeHandlers:\n  gone: {runtimePath: /usr/bin/gone}\n  notes: {runtimePath: /opt/notes}\n  dir: {runtimePath: /opt}`,
    errors: [
      `${FILE}: runtimeHandlers["gone"].runtimePath: /usr/bin/gone: no such file or directory`,
      `${FILE}: runtimeHandlers["notes"].runtimePath: /opt/notes is not executable`,
      `${FILE}: runtimeHandlers["dir"].runtimePath: /opt is not executable`,
    ],
  },
  'a missing program of a flag': {
    flags: { config: undefined, programs: new Map([['kata', '/usr/bin/gone']]) },
    errors: ['--runtime-handler: kata: /usr/bin/gone: no such file or directory'],
  },
  'base runtime specs that are missing or not of this format': {
    fields: 'runtimeHandlers:\n  gone: {baseRuntimeSpec: gone.json}\n  notes: {baseRuntimeSpec: /opt/notes}',
    errors: [
      `${FILE}: runtimeHandlers["gone"].baseRuntimeSpec: cannot load base runtime spec /etc/nodelet/gone.json: readText /etc/nodelet/gone.json: ENOENT`,
      `${FILE}: runtimeHandlers["notes"].baseRuntimeSpec: cannot load base runtime spec /opt/notes: invalid JSON`,
    ],
  },
  'writable cgroups without cgroup v2': {
    fields: kata('cgroupWritable: true'),
    errors: [`${FILE}: ${IN_KATA}.cgroupWritable: is only supported on cgroup v2`],
  },
};

for (const [what, { errors, ...given }] of Object.entries(refused)) {
  test(`loadRuntimeConfig() refuses ${what}`, async () => {
    assert.deepEqual((await load(given)).errors, errors);
  });
}

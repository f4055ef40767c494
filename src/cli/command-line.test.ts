import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetworkError } from '../host/network.ts';
import { NoAgentError } from '../kubelet/local-api/local-client.ts';
import { runCommandLine } from './command-line.ts';
import { commandRegistry } from './command-registry.ts';
import type { RegisteredCommand } from './commands/cli-command.ts';
import { scriptedContext } from './fake/scripted-context.ts';
import { CommandError } from './options/command-error.ts';

const registryConfigDirs = ['/etc/containerd/certs.d', '/etc/docker/certs.d'];
const client = { stateDir: '/run/nodelet', namespace: undefined };
const run = {
  paths: ['a.yaml'],
  once: false,
  allowEmpty: false,
  rootDir: '/var/lib/nodelet',
  stateDir: '/run/nodelet',
  podCidr: '10.87.0.0/16',
  registryConfigDirs,
  verbosity: 0,
  timeoutMs: 300_000,
};
const logs = {
  ...client,
  pod: 'hello',
  container: undefined,
  follow: false,
  previous: false,
  timestamps: false,
  tailLines: undefined,
  sinceMs: undefined,
};
const places = { rootDir: '/var/lib/nodelet', stateDir: '/run/nodelet' };
const cri = {
  ...places,
  listen: 'unix:///run/nodelet/cri.sock',
  cniConfDir: '/etc/cni/net.d',
  cniBinDirs: ['/opt/cni/bin', '/usr/lib/cni'],
  config: undefined,
  given: new Set<string>(),
  programs: new Map(),
  nriSocket: undefined,
  metricsListen: undefined,
  registryConfigDirs,
  cgroupDriver: 'cgroupfs',
  verbosity: 0,
};
const pull = {
  ...places,
  verb: 'pull',
  images: ['a'],
  quiet: false,
  username: undefined,
  platform: undefined,
  registryConfigDirs: undefined,
};
const exec = { ...client, pod: 'hello', container: undefined, stdin: false, tty: false, command: ['ls', '-l'] };

/** Every command, recording its options instead of its work and returning 7. */
function recorder(calls: unknown[]): readonly RegisteredCommand[] {
  return commandRegistry((command) => ({
    ...command,
    async execute(options) {
      calls.push(options === undefined ? [command.name] : [command.name, options]);
      return 7;
    },
  }));
}

const understood: Record<string, unknown[]> = {
  'run a.yaml': ['run', run],
  'run a.yaml b --once --timeout 90s --root /r --state /s --v 4 --pod-cidr 10.1.0.0/24 --registry-config-dir /d:/e': [
    'run',
    {
      paths: ['a.yaml', 'b'],
      once: true,
      allowEmpty: false,
      rootDir: '/r',
      stateDir: '/s',
      podCidr: '10.1.0.0/24',
      registryConfigDirs: ['/d', '/e'],
      verbosity: 4,
      timeoutMs: 90_000,
    },
  ],
  'run --allow-empty a.yaml': ['run', { ...run, allowEmpty: true }],
  'run --v=2 a.yaml': ['run', { ...run, verbosity: 2 }],
  ps: ['ps', { ...client, output: 'table' }],
  'ps -n kube-system -o wide': ['ps', { ...client, namespace: 'kube-system', output: 'wide' }],
  'ps --state /s --output=json': ['ps', { ...client, stateDir: '/s', output: 'json' }],
  'logs hello': ['logs', logs],
  'logs -f hello -c web --tail 20 --since 5m --timestamps -p': [
    'logs',
    { ...logs, container: 'web', follow: true, previous: true, timestamps: true, tailLines: 20, sinceMs: 300_000 },
  ],
  'logs --tail=-1 pod/hello': ['logs', { ...logs, pod: 'pod/hello' }],
  'why hello': ['why', { ...client, pod: 'hello', output: 'text' }],
  'timeline kube-system/dns --state /s -o json': [
    'timeline',
    { ...client, stateDir: '/s', pod: 'kube-system/dns', output: 'json' },
  ],
  'exec hello -- ls -l': ['exec', exec],
  'exec -it hello -c web -- sh': ['exec', { ...exec, container: 'web', stdin: true, tty: true, command: ['sh'] }],
  'stop hello default/other --grace-period 1': [
    'stop',
    { ...client, pods: ['hello', 'default/other'], graceSeconds: 1 },
  ],
  'stop --all': ['stop', { ...client, pods: [], graceSeconds: undefined }],
  'kubelet --config /c.yaml --v=2 --help --node-ip 10.0.0.1 x': [
    'kubelet',
    ['--config', '/c.yaml', '--v=2', '--help', '--node-ip', '10.0.0.1', 'x'],
  ],
  'kubelet --version': ['kubelet', ['--version']],
  kubelet: ['kubelet', []],
  cri: ['cri', cri],
  'cri --config /x.yaml --listen unix:///x --metrics-listen :1338 --root /r --state /s --cni-conf-dir /c --cni-bin-dir /a:/b --runtime-handler k=/bin/k --nri-socket /n --registry-config-dir /d:/e --cgroup-driver systemd --v 4':
    [
      'cri',
      {
        listen: 'unix:///x',
        rootDir: '/r',
        stateDir: '/s',
        cniConfDir: '/c',
        cniBinDirs: ['/a', '/b'],
        config: '/x.yaml',
        given: new Set([
          'rootDir',
          'stateDir',
          'listen',
          'cniConfDir',
          'cniBinDirs',
          'nriSocket',
          'metricsListen',
          'registryConfigDirs',
          'cgroupDriver',
          'verbosity',
        ]),
        programs: new Map([['k', '/bin/k']]),
        nriSocket: '/n',
        metricsListen: { host: '127.0.0.1', port: 1338 },
        registryConfigDirs: ['/d', '/e'],
        cgroupDriver: 'systemd',
        verbosity: 4,
      },
    ],
  'image load app.tar --root /r --state /s': [
    'image',
    { rootDir: '/r', stateDir: '/s', verb: 'load', archive: 'app.tar' },
  ],
  'image load -i app.tar': ['image', { ...places, verb: 'load', archive: 'app.tar' }],
  'image load': ['image', { ...places, verb: 'load', archive: '-' }],
  'image ls': ['image', { ...places, verb: 'ls', format: 'table', digests: false, whole: false }],
  'image ls -q --no-trunc': ['image', { ...places, verb: 'ls', format: 'ids', digests: false, whole: true }],
  'image list --digests': ['image', { ...places, verb: 'ls', format: 'table', digests: true, whole: false }],
  'image ls -o json': ['image', { ...places, verb: 'ls', format: 'json', digests: false, whole: false }],
  'image pull a b:1 --quiet': ['image', { ...pull, images: ['a', 'b:1'], quiet: true }],
  'image pull -u me --password-stdin --platform linux/amd64 --registry-config-dir /d a': [
    'image',
    { ...pull, username: 'me', platform: 'linux/amd64', registryConfigDirs: ['/d'] },
  ],
  'image save a b -o x.tar': ['image', { ...places, verb: 'save', images: ['a', 'b'], output: 'x.tar' }],
  'image save a': ['image', { ...places, verb: 'save', images: ['a'], output: '-' }],
  'image tag a b': ['image', { ...places, verb: 'tag', image: 'a', name: 'b' }],
  'image rm a b': ['image', { ...places, verb: 'rm', images: ['a', 'b'], force: false }],
  'image rmi -f a': ['image', { ...places, verb: 'rm', images: ['a'], force: true }],
  'image build-from-rootfs /r a:1 --cmd sh --cmd=-c --env A=b --user 1:2 --workdir /w': [
    'image',
    {
      ...places,
      verb: 'build-from-rootfs',
      rootfs: '/r',
      name: 'a:1',
      config: { cmd: ['sh', '-c'], entrypoint: [], env: ['A=b'], user: '1:2', workingDir: '/w' },
    },
  ],
  version: ['version'],
};

for (const [line, call] of Object.entries(understood)) {
  test(`nodelet ${line}`, async () => {
    const calls: unknown[] = [];
    const { context } = scriptedContext();
    assert.equal(await runCommandLine(line.split(' '), context, recorder(calls)), 7);
    assert.deepEqual(calls, [call]);
  });
}

const misused: Record<string, RegExp> = {
  run: /missing required argument 'file'/,
  'run a.yaml --tiemout 5m': /unknown option '--tiemout'\n\(Did you mean --timeout\?\)/,
  'run a.yaml --pod-cidr 10.87.0.0': /It must be an IPv4 network/,
  'run a.yaml --v x': /It must be a whole number/,
  'ps -o xml': /Allowed choices are wide, json, yaml/,
  'logs hello --since yesterday': /It must be a duration such as 30s/,
  'logs hello --tail -5': /It must be a whole number/,
  'exec hello': /missing required argument 'command'/,
  'cri --listen /run/x.sock': /It must be a socket such as unix:/,
  'cri --runtime-handler kata': /It must be a name and the path of a program/,
  'image load a -i b': /one archive at a time/,
  'image save -o x.tar': /missing required argument 'image'/,
  'image pull': /missing required argument 'image'/,
  'image pull a -u me': /--username and --password-stdin are given together/,
  'image pull a --password-stdin': /--username and --password-stdin are given together/,
  'image ls -o yaml': /Allowed choices are json/,
  stop: /name the pods to stop, or give --all/,
  'stop --all hello': /name the pods to stop, or give --all/,
  frobnicate: /unknown command 'frobnicate'/,
};

for (const [line, message] of Object.entries(misused)) {
  test(`nodelet ${line} is wrong usage`, async () => {
    const calls: unknown[] = [];
    const { context, written } = scriptedContext();
    assert.equal(await runCommandLine(line.split(' '), context, recorder(calls)), 2);
    assert.deepEqual(calls, []);
    assert.match(written.stderr, message);
  });
}

test('nodelet without a command shows its help', async () => {
  const { context, written } = scriptedContext();
  assert.equal(await runCommandLine([], context, recorder([])), 2);
  assert.match(written.stderr, /^Usage: nodelet/);
});

test('nodelet --help names every command and the exit codes', async () => {
  const { context, written } = scriptedContext();
  assert.equal(await runCommandLine(['--help'], context, recorder([])), 0);
  for (const name of ['run', 'ps', 'logs', 'exec', 'stop', 'image', 'kubelet', 'cri', 'version']) {
    assert.match(written.stdout, new RegExp(`^  ${name} `, 'm'));
  }
  assert.match(written.stdout, /Exit codes:\n {2}0 {3}done/);
});

const failures: Record<string, { error: Error; exitCode: number; stderr: string }> = {
  'an error for the user': {
    error: new CommandError('cannot read x.yaml: no such file', 2),
    exitCode: 2,
    stderr: 'nodelet ps: cannot read x.yaml: no such file\n',
  },
  'that no agent is running': {
    error: new NoAgentError('/run/nodelet/nodelet.sock', new NetworkError('ENOENT', ''), {}),
    exitCode: 1,
    stderr:
      "nodelet: no agent is running here (/run/nodelet/nodelet.sock: ENOENT); start one with 'nodelet run FILE'\n",
  },
  'nothing when stdout is closed': {
    error: Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }),
    exitCode: 1,
    stderr: '',
  },
};

for (const [name, { error, exitCode, stderr }] of Object.entries(failures)) {
  test(`a failing command reports ${name}`, async () => {
    const { context, written } = scriptedContext();
    const commands = commandRegistry((command) => ({ ...command, execute: () => Promise.reject(error) }));
    assert.equal(await runCommandLine(['ps'], context, commands), exitCode);
    assert.equal(written.stderr, stderr);
  });
}

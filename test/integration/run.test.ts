/** `nodelet run` as a user runs it: the program, its embedded runtime, real containers. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { freePort } from './free-port.ts';
import { TestNodelet } from './nodelet-fixture.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { becomes, until } from './until.ts';

const HELLO = join(import.meta.dirname, '../../examples/hello.yaml');
const SETTINGS = join(import.meta.dirname, '../../examples/settings.yaml');
const IMAGE = 'localhost/nodelet/busybox:1';

function sleeper(name: string, extra = ''): string {
  return `apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 5
  containers:
  - {name: main, image: "${IMAGE}", command: [sh, -c, "trap 'exit 0' TERM; echo up; sleep 1000 & wait"]${extra}}
`;
}

function fetchText(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text));
    }).on('error', reject);
  });
}

suite('nodelet run', { skip: embeddedSkipReason(), timeout: 900_000 }, () => {
  const nodelet = new TestNodelet();
  after(() => nodelet.cleanUp());

  test('runs the example to completion with --once, and leaves no resources', async () => {
    const run = nodelet.run('--once', HELLO);
    assert.equal(await run.exited, 0, run.output());
    for (const pattern of [/✓ init +prepare +exit 0/, /✓ sidecar +caller/, /● ready/, /nothing left behind/]) {
      assert.match(run.output(), pattern);
    }
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('serves the page at the shown address, and stops on SIGINT', async () => {
    const run = nodelet.run(HELLO);
    const [, url = ''] = await run.line(/curl (http:\S+)/);
    assert.match(await fetchText(url), /Hello from pod hello-/);
    await run.line(/hello\/caller \| Hello from pod hello-/);
    run.process.kill('SIGINT');
    assert.equal(await run.exited, 0, run.output());
    assert.match(run.output(), /nothing left behind/);
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('gives a pod its settings, and follows a change of them', async () => {
    const manifest = readFileSync(SETTINGS, 'utf8');
    const run = nodelet.run(nodelet.write('settings.yaml', manifest));
    await run.line(/greeter\/greet \| language en, pod greeter-\S+, a password of 11 characters$/m);
    await run.line(/greeter\/greet \| Good morning$/m);
    nodelet.write('settings.yaml', manifest.replace('greeting: Good morning', 'greeting: Good evening'));
    await run.line(/greeter\/greet \| Good evening$/m);
    run.process.kill('SIGINT');
    assert.equal(await run.exited, 0, run.output());
    assert.match(run.output(), /greeter\/greet \| Goodbye$/m); // words: quoted
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('gives a pod with a subdomain the domain that it has in a cluster', async () => {
    const manifest = `apiVersion: v1
kind: Pod
metadata: {name: named}
spec:
  restartPolicy: Never
  hostname: web
  subdomain: site
  containers:
  - {name: main, image: "${IMAGE}", command: [sh, -c, "hostname; hostname -f"]}
`;
    const run = nodelet.run('--once', nodelet.write('named.yaml', manifest));
    assert.equal(await run.exited, 0, run.output());
    assert.match(run.output(), /named\/main \| web$/m);
    assert.match(run.output(), /named\/main \| web\.site\.default\.svc\.cluster\.local$/m);
  });

  test('propagates mounts between the containers of a volume, and removes them with the pod', async () => {
    const manifest = `apiVersion: v1
kind: Pod
metadata: {name: mounts}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  volumes: [{name: shared, emptyDir: {}}]
  containers:
  - name: mounter
    image: "${IMAGE}"
    command: [sh, -c, "mkdir /v/disk && mount -t tmpfs tmpfs /v/disk && echo mounted >/v/disk/file && sleep 1000"]
    securityContext: {privileged: true}
    volumeMounts: [{name: shared, mountPath: /v, mountPropagation: Bidirectional}]
  - name: slave
    image: "${IMAGE}"
    command: [sh, -c, "until cat /v/disk/file; do sleep 0.1; done 2>/dev/null; sleep 1000"]
    volumeMounts: [{name: shared, mountPath: /v, mountPropagation: HostToContainer}]
  - name: private
    image: "${IMAGE}"
    command: [sh, -c, "until test -d /v/disk; do sleep 0.1; done; sleep 1; ls -a /v/disk; sleep 1000"]
    volumeMounts: [{name: shared, mountPath: /v}]
`;
    const run = nodelet.run(nodelet.write('mounts.yaml', manifest));
    await run.line(/mounts\/slave \| mounted$/m);
    await run.line(/mounts\/private \| \.\.$/m);
    run.process.kill('SIGINT');
    assert.equal(await run.exited, 0, run.output());
    assert.doesNotMatch(run.output(), /mounts\/private \| file$/m);
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('answers ps, logs, exec and stop', async () => {
    const run = nodelet.run(nodelet.write('web.yaml', sleeper('web')));
    await run.line(/● ready/);
    await run.line(/web\/main \| up$/m);
    const ps = await nodelet.command('ps');
    assert.match(ps.stdout, /^NAME +READY +STATUS +RESTARTS +AGE\nweb-\S+ +1\/1 +Running +0 /);
    assert.equal((await nodelet.command('logs', 'web')).stdout, 'up\n');
    const exec = await nodelet.command('exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7');
    assert.deepEqual([exec.exitCode, exec.stdout], [7, 'out\n']);
    assert.match(exec.stderr, /^err\n/);
    const second = nodelet.run(nodelet.write('other.yaml', sleeper('other')));
    assert.equal(await second.exited, 1);
    assert.match(second.output(), /another agent is running \(pid \d+, /);
    assert.equal((await nodelet.command('stop', 'web')).exitCode, 0);
    assert.doesNotMatch((await nodelet.command('ps')).stdout, /web-/);
    assert.equal((await nodelet.command('stop', '--all')).exitCode, 0);
    assert.equal(await run.exited, 0, run.output());
    assert.deepEqual(nodelet.remainingResources(), []);
    assert.match((await nodelet.command('ps')).stderr, /no agent is running here/);
  });

  test('adopts the pods of a killed agent without a restart', async () => {
    const manifest = nodelet.write('web.yaml', sleeper('web'));
    const first = nodelet.run(manifest);
    await first.line(/● ready/);
    const containerIds = async () =>
      (await nodelet.command('ps', '-o', 'json')).stdout.match(/"\w+:\/\/[0-9a-f]{64}"/g);
    const before = await containerIds();
    first.process.kill('SIGKILL');
    await first.exited;
    const second = nodelet.run(manifest);
    await second.line(/● ready/);
    assert.deepEqual(await containerIds(), before);
    second.process.kill('SIGTERM');
    assert.equal(await second.exited, 0);
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('replaces the pods of a killed agent when their manifest has changed', async () => {
    const first = nodelet.run(nodelet.write('web.yaml', sleeper('web')), nodelet.write('old.yaml', sleeper('old')));
    await first.line(/web +● ready/);
    await first.line(/old +● ready/);
    first.process.kill('SIGKILL');
    await first.exited;
    const second = nodelet.run('--once', nodelet.write('web.yaml', sleeper('web', ', env: [{name: A, value: b}]')));
    assert.equal(await second.exited, 0, second.output());
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('follows a manifest while it runs', async () => {
    const manifest = nodelet.write('web.yaml', sleeper('web'));
    const run = nodelet.run(manifest);
    await run.line(/● ready/);
    nodelet.write('web.yaml', `${sleeper('web')}---\n${sleeper('more')}`);
    await run.line(/more +● ready/);
    nodelet.write('web.yaml', 'kind: [Pod\n');
    await run.line(/✗ .*web\.yaml:\d+:\d+: /);
    assert.match((await nodelet.command('ps')).stdout, /^more-.*\nweb-|^web-.*\nmore-/m);
    nodelet.write('web.yaml', sleeper('more'));
    await run.line(/web +○ gone/);
    run.process.kill('SIGTERM');
    assert.equal(await run.exited, 0);
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('replaces a pod that uses a host port and over half of the node, and restarts one whose manifest is restored', async () => {
    const cpus = Math.ceil(availableParallelism() * 600);
    const port = `{containerPort: 80, hostPort: ${await freePort()}}`;
    const claims = `, ports: [${port}], resources: {requests: {cpu: ${cpus}m}}`;
    const manifest = nodelet.write('large.yaml', sleeper('large', claims));
    const run = nodelet.run(manifest);
    await run.line(/large +● ready/);
    nodelet.write('large.yaml', sleeper('large', `${claims}, env: [{name: A, value: b}]`));
    const restarts = async (): Promise<string | undefined> =>
      /"restartCount": ?(\d+)/.exec((await nodelet.command('ps', '-o', 'json')).stdout)?.[1];
    const isSet = async (): Promise<boolean> => {
      const { stdout } = await nodelet.command('exec', 'large', '--', 'sh', '-c', 'echo A=$A');
      return stdout.includes('A=b');
    };
    await until(isSet);
    assert.equal(await restarts(), '0');
    const text = readFileSync(manifest, 'utf8');
    rmSync(manifest);
    writeFileSync(manifest, text);
    await becomes(restarts, '1');
    run.process.kill('SIGTERM');
    assert.equal(await run.exited, 0);
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('reports errors of a manifest, runs the other pods, and exits with 1', async () => {
    const text = `${sleeper('good')}---\n${sleeper('Bad_')}---\n${sleeper('typo').replace('command', 'comand')}`;
    const run = nodelet.run('--once', nodelet.write('mixed.yaml', text));
    assert.equal(await run.exited, 1);
    assert.match(run.output(), /mixed\.yaml:\d+:\d+: metadata\.name: Invalid value: "Bad_"/);
    assert.match(run.output(), /mixed\.yaml:\d+:\d+: unknown field "spec\.containers\[0\]\.comand"/);
    assert.match(run.output(), /good +● ready/);
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('rejects invalid input before it starts anything', async () => {
    const cases: [string, RegExp][] = [
      [join(nodelet.folder, 'none.yaml'), /cannot read .*none\.yaml: no such file/],
      [nodelet.write('syntax.yaml', 'a: [1\n'), /syntax\.yaml:\d+:\d+: /],
      [
        nodelet.write('empty-pod.yaml', 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n'),
        /spec\.containers: Required value/,
      ],
    ];
    for (const [path, message] of cases) {
      const run = nodelet.run(path);
      assert.equal(await run.exited, 2, run.output());
      assert.match(run.output(), message);
    }
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('rejects a pod with an unsupported field, by the name of the field', async () => {
    const text = sleeper('gated').replace('spec:', 'spec:\n  readinessGates: [{conditionType: x}]');
    const run = nodelet.run('--once', nodelet.write('gated.yaml', text));
    assert.equal(await run.exited, 1);
    assert.match(run.output(), /spec\.readinessGates\[0\] needs an API server, and this node has none/);
  });

  test('keeps no log of a removed pod', () => {
    assert.deepEqual(readdirSync(join(nodelet.rootDir, 'pod-logs')), []);
  });
});

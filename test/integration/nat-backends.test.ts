/** `nodelet run` on machines with iptables of either variant, with nft alone, and with neither. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { suite, type TestContext, test } from 'node:test';
import { IsolatedMachine, MACHINE_ADDRESS, type NatPrograms, OUTSIDE_ADDRESS } from './isolated-machine.ts';
import { type RunningNodelet, TestNodelet } from './nodelet-fixture.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { until } from './until.ts';

const IMAGE = 'localhost/nodelet/busybox:1';
const OUTSIDE_PORT = 9000;

function skipReason(): string | false {
  const programs = ['nft', 'xtables-nft-multi', 'xtables-legacy-multi'].map((name) => `/usr/sbin/${name}`);
  const missing = programs.filter((path) => !existsSync(path));
  return missing.length > 0 ? `not installed: ${missing.join(', ')}` : embeddedSkipReason();
}

async function machineFor(t: TestContext, programs: NatPrograms): Promise<IsolatedMachine> {
  const machine = await IsolatedMachine.create();
  t.after(() => machine.close());
  machine.use(programs);
  await machine.serveOutside(OUTSIDE_PORT);
  return machine;
}

/** Cleaned up before its machine is closed. */
async function on<T>(machine: IsolatedMachine, work: (nodelet: TestNodelet) => Promise<T>): Promise<T> {
  const nodelet = new TestNodelet(machine.prefix);
  try {
    return await work(nodelet);
  } finally {
    await nodelet.cleanUp();
  }
}

/** Asks the outside server who it sees, then answers `hello` at its host port. */
function webPod(hostPort: number, name = 'web'): string {
  const serve = `nc ${OUTSIDE_ADDRESS} ${OUTSIDE_PORT}; echo asked; exec nc -ll -p 80 -e echo hello`;
  return `apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: "${IMAGE}"
    command: [sh, -c, "${serve}"]
    ports: [{containerPort: 80, hostPort: ${hostPort}}]
`;
}

async function stop(run: RunningNodelet): Promise<void> {
  run.process.kill('SIGTERM');
  assert.equal(await run.exited, 0, run.output());
  assert.match(run.output(), /nothing left behind/);
}

function assertNothingLeft(machine: IsolatedMachine, { bridge }: TestNodelet): void {
  assert.doesNotMatch(machine.rules(), /nodelet|CNI-|cni_/);
  assert.ok(!machine.links().includes(bridge), machine.links());
}

suite('NAT by the programs of the machine', { skip: skipReason(), timeout: 600_000 }, () => {
  for (const programs of ['iptables-nft', 'iptables-legacy', 'nft'] as const) {
    test(`${programs}: a pod reaches an outside network, and its host port answers`, async (t) => {
      const machine = await machineFor(t, programs);
      await on(machine, async (nodelet) => {
        const run = nodelet.run(nodelet.write('web.yaml', webPod(8080)));
        await run.line(/web\/main \| asked/);
        assert.match(run.output(), new RegExp(`web/main \\| ${RegExp.escape(MACHINE_ADDRESS)}\n`));
        await until(() => machine.ask('outside', MACHINE_ADDRESS, 8080) === 'hello\n');
        await until(() => machine.ask('machine', '127.0.0.1', 8080) === 'hello\n');
        await until(() => machine.ask('machine', MACHINE_ADDRESS, 8080) === 'hello\n');
        for (const client of ['itself', 'another pod']) {
          const pod = client === 'itself' ? 'web' : 'client';
          if (pod === 'client') await runClient(nodelet, run);
          const ask = ['exec', pod, '--', 'nc', '-w', '5', MACHINE_ADDRESS, '8080'];
          await until(async () => (await nodelet.command(...ask)).stdout === 'hello\n');
        }
        await stop(run);
        assertNothingLeft(machine, nodelet);
      });
    });
  }

  /** Adds a second pod to those of `run`. */
  async function runClient(nodelet: TestNodelet, run: RunningNodelet): Promise<void> {
    const manifest = `${webPod(8080)}---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: "${IMAGE}", command: [sleep, "1000"]}]}
`;
    nodelet.write('web.yaml', manifest);
    await run.line(/client +● ready/);
  }

  test('nft: a pod with host ports opens no way to loopback services of the machine', async (t) => {
    const machine = await machineFor(t, 'nft');
    await on(machine, async (nodelet) => {
      const admin = '    securityContext: {capabilities: {add: [NET_ADMIN]}}\n';
      const run = nodelet.run(nodelet.write('web.yaml', `${webPod(8080)}${admin}`));
      await run.line(/web\/main \| asked/);
      const gateway = nodelet.podCidr.replace('.0/24', '.1');
      const toMachine = `ip route del local 127.0.0.1 table local; ip route del local 127.0.0.0/8 table local; ip route add 127.0.0.1 via ${gateway} && ip route get 127.0.0.1`;
      const routed = await nodelet.command('exec', 'web', '--', 'sh', '-c', toMachine);
      assert.match(routed.stdout, new RegExp(`127\\.0\\.0\\.1 via ${RegExp.escape(gateway)}`), routed.stderr);
      const input = `rule inet nodelet-${nodelet.bridge} input ip daddr 127.0.0.1 tcp dport 7000 counter`;
      machine.nft(`insert ${input} comment "arrived"`);
      machine.nft(`add ${input} comment "passed"`);
      await nodelet.command('exec', 'web', '--', 'nc', '-w', '2', '127.0.0.1', '7000');
      assert.match(machine.rules(), /counter packets [1-9]\d* bytes \d+ comment "arrived"/);
      assert.match(machine.rules(), /counter packets 0 bytes 0 comment "passed"/);
      await stop(run);
      assertNothingLeft(machine, nodelet);
    });
  });

  test('neither: a pod on the network of the machine runs, others wait with the names of the packages', async (t) => {
    const machine = await machineFor(t, 'none');
    await on(machine, async (nodelet) => {
      const onHost = webPod(80, 'host').replace('spec:', 'spec:\n  hostNetwork: true');
      const run = nodelet.run(nodelet.write('pods.yaml', `${webPod(8080)}---\n${onHost}`));
      await run.line(/host +● ready/);
      await until(() => machine.ask('outside', MACHINE_ADDRESS, 80) === 'hello\n'); // ready is earlier than its server
      const missing = /iptables is not installed, and nft is not installed; install the package nftables or iptables/;
      await run.line(missing);
      await until(async () => missing.test((await nodelet.command('why', 'web')).stdout));
      await stop(run);
      assertNothingLeft(machine, nodelet);
    });
  });

  test('two instances on a machine with nft alone', async (t) => {
    const machine = await machineFor(t, 'nft');
    await on(machine, (first) =>
      on(machine, async (second) => {
        const runs = [first, second].map((nodelet, index) =>
          nodelet.run(nodelet.write('web.yaml', webPod(8080 + index))),
        );
        await Promise.all(runs.map((run) => run.line(/web\/main \| asked/)));
        for (const port of [8080, 8081]) {
          await until(() => machine.ask('outside', MACHINE_ADDRESS, port) === 'hello\n');
        }
        const [one, two] = runs;
        assert.ok(one && two);
        await stop(one);
        assert.equal(machine.ask('outside', MACHINE_ADDRESS, 8080), '');
        await until(() => machine.ask('outside', MACHINE_ADDRESS, 8081) === 'hello\n');
        await stop(two);
        assertNothingLeft(machine, first);
        assertNothingLeft(machine, second);
      }),
    );
  });

  for (const [from, to] of [
    ['iptables-nft', 'iptables-legacy'],
    ['iptables-legacy', 'iptables-nft'],
    ['nft', 'iptables-nft'],
  ] as const) {
    test(`a machine that is switched from ${from} to ${to} after a crash is cleaned up of both`, async (t) => {
      const machine = await machineFor(t, from);
      await on(machine, async (nodelet) => {
        const manifest = nodelet.write('web.yaml', webPod(8080));
        const crashed = nodelet.run(manifest);
        await crashed.line(/web\/main \| asked/);
        crashed.process.kill('SIGKILL');
        await crashed.exited;
        machine.use(to, { switched: true });
        if (from === 'nft') machine.showNft();
        const run = nodelet.run(manifest);
        await run.line(/web +● ready/);
        await until(() => machine.ask('outside', MACHINE_ADDRESS, 8080) === 'hello\n'); // the pod that was adopted
        await stop(run);
        assertNothingLeft(machine, nodelet);
      });
    });
  }

  test('without iptables, the rules of a previous process are removed by the name of the variant', async (t) => {
    const machine = await machineFor(t, 'iptables-legacy');
    await on(machine, async (nodelet) => {
      const withoutPort = nodelet.write('web.yaml', webPod(8080).replace(/^ +ports: .*\n/m, ''));
      const crashed = nodelet.run(withoutPort);
      await crashed.line(/web\/main \| asked/);
      crashed.process.kill('SIGKILL');
      await crashed.exited;
      assert.match(machine.rules(), /-j MASQUERADE/);
      machine.use('nft', { switched: true });
      const run = nodelet.run(withoutPort);
      await run.line(/web +● ready/);
      await stop(run);
      assertNothingLeft(machine, nodelet);
    });
  });

  test('rules that no program of the machine can remove are reported, and removed when it is back', async (t) => {
    const machine = await machineFor(t, 'nft');
    await on(machine, async (nodelet) => {
      const withoutPort = nodelet.write('web.yaml', webPod(8080).replace(/^ +ports: .*\n/m, ''));
      const crashed = nodelet.run(withoutPort);
      await crashed.line(/web\/main \| asked/);
      crashed.process.kill('SIGKILL');
      await crashed.exited;
      machine.use('iptables-nft');
      const second = nodelet.run(withoutPort);
      await second.line(/web +● ready/);
      second.process.kill('SIGTERM');
      assert.equal(await second.exited, 1, second.output());
      assert.match(second.output(), /NAT rules of the pods are left.*nftables/);
      assert.match(second.output(), /something is left behind; the next 'nodelet run' removes it/);
      machine.showNft();
      const third = nodelet.run(withoutPort);
      await third.line(/web\/main \| asked/);
      await stop(third);
      assertNothingLeft(machine, nodelet);
    });
  });
});

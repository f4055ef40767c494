/** An API server that closes connections at random (`--goaway-chance`), as those behind a load balancer do. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { HttpApiServer } from '../../src/kubelet/api-client/http-api-server.ts';
import { type ObjectChange, runReflector } from '../../src/kubelet/api-client/reflector.ts';
import { connectTo, type Relay, startRelay } from './cluster-client-fixture.ts';
import { type ControlPlane, clusterSkipReason, startControlPlane } from './cluster-fixture.ts';

const patience = (): AbortSignal => AbortSignal.timeout(60_000);
const keyOf = (name: string) => ({ resource: 'configmaps', namespace: 'default', name }) as const;

describe('the client of an API server that closes connections', { skip: clusterSkipReason() }, () => {
  let plane: ControlPlane;
  let relay: Relay;
  let api: HttpApiServer;
  before(async () => {
    plane = await startControlPlane('--goaway-chance=0.02'); // the maximum that it accepts
    relay = await startRelay(plane.url);
    api = await connectTo(kubeconfigFor(plane, relay.url));
  });
  after(async () => {
    api?.[Symbol.dispose]();
    relay?.[Symbol.dispose]();
    await plane?.stop();
  });

  test('no request is repeated, and no event is lost or duplicated', async () => {
    const end = new AbortController();
    const received: string[] = [];
    let onReceived = (): void => {};
    const receive = (text: string): void => {
      received.push(text);
      onReceived();
    };
    const handler = {
      onList: (objects: readonly { metadata: { name: string } }[]) =>
        receive(`listed ${objects.map(({ metadata }) => metadata.name)}`),
      onChange: ({ type, object }: ObjectChange<{ metadata: { name: string } }>) =>
        receive(`${type} ${object.metadata.name}`),
    };
    const until = async (text: string): Promise<void> => {
      while (!received.includes(text)) {
        const { promise, resolve } = Promise.withResolvers<void>();
        onReceived = resolve;
        await promise;
      }
    };
    const selection = { resource: 'configmaps', namespace: 'default' } as const;
    const deps = { ...createLinuxHost(process.env), api, log: silentLog };
    const following = runReflector(selection, handler, deps, end.signal);
    await until('listed kube-root-ca.crt');

    const done = ['listed kube-root-ca.crt'];
    // Each connection beyond the first replaces one that the server has closed.
    for (let round = 0; relay.made() < 5; round++) {
      const names = Array.from({ length: 8 }, (_, each) => `m-${round}-${each}`);
      // A repeated creation or deletion of the same name would fail.
      const make = (name: string) => api.create(keyOf(name), { metadata: { name, namespace: 'default' } }, patience());
      await Promise.all(names.map(make));
      await Promise.all(names.map((name) => api.delete(keyOf(name), {}, patience())));
      done.push(...names.flatMap((name) => [`ADDED ${name}`, `DELETED ${name}`]));
    }
    for (const text of done) await until(text);
    end.abort();
    await following;
    const inOrder = (texts: readonly string[]) => texts.toSorted((a, b) => a.localeCompare(b));
    assert.deepEqual(inOrder(received), inOrder(done));
  });
});

function kubeconfigFor({ folder, authority }: ControlPlane, server: string): string {
  const { certFile, keyFile } = authority.issue({ user: 'admin', groups: ['system:masters'] });
  const path = join(folder, 'relayed.kubeconfig');
  const config = {
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority': authority.caFile } }],
    users: [{ name: 'test', user: { 'client-certificate': certFile, 'client-key': keyFile } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

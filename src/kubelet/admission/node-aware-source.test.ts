import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod } from '../../api/generated/core-v1.ts';
import type { PodSource, SourceSnapshot } from '../sources/pod-source.ts';
import { nodeAwareSource } from './node-aware-source.ts';

const LIFE = new AbortController().signal;

function podFor(uid: string, nodeSelector: Record<string, string> = {}): Pod {
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [], nodeSelector } };
}

function sourceOf(...reports: readonly (readonly Pod[])[]): PodSource {
  async function* snapshots(): AsyncGenerator<SourceSnapshot> {
    for (const pods of reports) yield { pods, errors: [] };
  }
  return { name: 'api', snapshots };
}

/** A node whose watch is behind: only a refresh returns the label. */
function staleNode(known: Promise<void> = Promise.resolve()) {
  const node = {
    labels: {} as Record<string, string>,
    refreshed: 0,
    known,
    current: (): Node => ({ metadata: { name: 'box', labels: node.labels }, spec: {} }),
    async refresh(): Promise<void> {
      node.refreshed++;
      node.labels = { disk: 'fast' };
    },
  };
  return node;
}

async function reportedUids(source: PodSource, signal = LIFE): Promise<string[][]> {
  const all: string[][] = [];
  for await (const { pods } of source.snapshots(signal)) all.push(pods.map(({ metadata }) => metadata.uid));
  return all;
}

test('nodeAwareSource() reports nothing before the node is known', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isKnown = false;
  const reported = reportedUids(nodeAwareSource(sourceOf([podFor('a')]), 'box', staleNode(promise)));
  void reported.then(() => assert.ok(isKnown));
  await Promise.resolve();
  isKnown = true;
  resolve();
  assert.deepEqual(await reported, [['a']]);
});

test('nodeAwareSource() stops when the signal aborts before the node is known', async () => {
  const life = new AbortController();
  const reported = reportedUids(
    nodeAwareSource(sourceOf([podFor('a')]), 'box', staleNode(new Promise(() => {}))),
    life.signal,
  );
  life.abort();
  assert.deepEqual(await reported, []);
});

test('nodeAwareSource() refreshes the node once for a pod that does not match it', async () => {
  const node = staleNode();
  const unmatched = podFor('odd', { disk: 'slow' });
  const source = sourceOf([podFor('plain')], [podFor('plain'), unmatched], [podFor('plain'), unmatched]);
  assert.deepEqual(await reportedUids(nodeAwareSource(source, 'box', node)), [
    ['plain'],
    ['plain', 'odd'],
    ['plain', 'odd'],
  ]);
  assert.equal(node.refreshed, 1);
});

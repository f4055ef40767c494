import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod } from '../../api/generated/core-v1.ts';
import type { PodSource, SourceSnapshot } from '../sources/pod-source.ts';
import { nodeAwareSource } from './node-aware-source.ts';

const LIFE = new AbortController().signal;

function podFor(uid: string, nodeSelector: Record<string, string> = {}): Pod {
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [], nodeSelector } };
}

function saying(...words: readonly (readonly Pod[])[]): PodSource {
  async function* snapshots(): AsyncGenerator<SourceSnapshot> {
    for (const pods of words) yield { pods, errors: [] };
  }
  return { name: 'api', snapshots };
}

/** A node whose watch is behind: only when asked does the server tell of the label. */
function nodeBehind(known: Promise<void> = Promise.resolve()) {
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

async function heard(source: PodSource, signal = LIFE): Promise<string[][]> {
  const all: string[][] = [];
  for await (const { pods } of source.snapshots(signal)) all.push(pods.map(({ metadata }) => metadata.uid));
  return all;
}

test('nodeAwareSource() says nothing before the node is known', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isKnown = false;
  const listening = heard(nodeAwareSource(saying([podFor('a')]), 'box', nodeBehind(promise)));
  void listening.then(() => assert.ok(isKnown));
  await Promise.resolve();
  isKnown = true;
  resolve();
  assert.deepEqual(await listening, [['a']]);
});

test('nodeAwareSource() ends with its signal though the node never gets known', async () => {
  const life = new AbortController();
  const listening = heard(
    nodeAwareSource(saying([podFor('a')]), 'box', nodeBehind(new Promise(() => {}))),
    life.signal,
  );
  life.abort();
  assert.deepEqual(await listening, []);
});

test('nodeAwareSource() asks for the node once for a pod that does not fit it', async () => {
  const node = nodeBehind();
  const odd = podFor('odd', { disk: 'slow' });
  const words = saying([podFor('plain')], [podFor('plain'), odd], [podFor('plain'), odd]);
  assert.deepEqual(await heard(nodeAwareSource(words, 'box', node)), [['plain'], ['plain', 'odd'], ['plain', 'odd']]);
  assert.equal(node.refreshed, 1);
});

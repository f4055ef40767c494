import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sandboxImageIn } from './images-in-use.ts';

const configs: Record<string, string | undefined> = {
  '{"sandboxImage":"registry.k8s.io/pause:3.6","enableSelinux":false}': 'registry.k8s.io/pause:3.6',
  '{"sandboxImage":""}': undefined,
  '{"pauseImage":"p"}': undefined,
  '[crio]\n': undefined,
  null: undefined,
  '': undefined,
};

for (const [config, image] of Object.entries(configs)) {
  test(`sandboxImageIn(${JSON.stringify(config)}) is ${image}`, () => assert.equal(sandboxImageIn(config), image));
}

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { chooseDraService } from './dra-services.ts';

const CHOSEN = [
  [['v1.DRAPlugin'], 'v1.DRAPlugin'],
  [['v1beta1.DRAPlugin'], 'v1beta1.DRAPlugin'],
  [['v1.DRAPlugin', 'v1beta1.DRAPlugin', 'v1alpha1.DRAResourceHealth'], 'v1.DRAPlugin'],
  // The plugin's own order decides, as in kubelet.
  [['v1beta1.DRAPlugin', 'v1.DRAPlugin'], 'v1beta1.DRAPlugin'],
  [['v2.DRAPlugin', 'v1.DRAPlugin'], 'v1.DRAPlugin'],
] as const;

const REFUSED = [
  [[], 'empty list of supported gRPC services (aka supported versions)'],
  [
    ['v1alpha4.Node', 'constructor'],
    'none of services supported by the plugin (["v1alpha4.Node" "constructor"]) are supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
  ],
] as const;

suite('the service of a DRA plugin', () => {
  for (const [offered, chosen] of CHOSEN) {
    test(`${offered.join(', ')}: ${chosen}`, () => assert.equal(chooseDraService(offered), chosen));
  }
  for (const [offered, message] of REFUSED) {
    test(`${offered.join(', ') || 'none'} is refused`, () =>
      assert.throws(() => chooseDraService(offered), { message }));
  }
});

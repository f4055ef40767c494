import { ipAddressErrors } from '../../base/ip-address.ts';
import { CriError } from '../../cri/cri-error.ts';
import { UpdateRuntimeConfigResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { PodNetwork } from '../network/pod-network.ts';

/** Sets the node's pod CIDR; with dual stack, one per family, separated by a comma. */
export function updateRuntimeConfig(network: Pick<PodNetwork, 'setPodCidr'>): RuntimeService['updateRuntimeConfig'] {
  return async ({ runtimeConfig }) => {
    const podCidr = runtimeConfig?.networkConfig?.podCidr ?? '';
    if (podCidr !== '') {
      const wrong = podCidr.split(',').find((range) => !isCidr(range));
      if (wrong !== undefined) {
        throw new CriError('InvalidArgument', `runtime_config.network_config.pod_cidr: ${wrong} is not a CIDR`);
      }
      network.setPodCidr(podCidr);
    }
    return UpdateRuntimeConfigResponse.create();
  };
}

function isCidr(range: string): boolean {
  const [address = '', length = '', ...more] = range.split('/');
  const most = address.includes(':') ? 128 : 32;
  return (
    more.length === 0 && ipAddressErrors(address).length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= most
  );
}

import { ListMetricDescriptorsResponse } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { metricDescriptors } from '../stats/metrics-reader.ts';

export function listMetricDescriptors(): RuntimeService['listMetricDescriptors'] {
  return async () => ListMetricDescriptorsResponse.create({ descriptors: metricDescriptors() });
}

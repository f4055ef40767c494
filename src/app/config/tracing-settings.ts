import { DEFAULT_TRACING_ENDPOINT, type TracingSettings } from '../../observability/tracing/start-tracing.ts';
import type { KubeletSettings } from './load-config.ts';

/** The traces of kubelet, with its resource attributes; `undefined` without `tracing` in the configuration. */
export function tracingSettings({
  config: { tracing },
  nodeName,
}: Pick<KubeletSettings, 'config' | 'nodeName'>): TracingSettings | undefined {
  if (tracing === undefined) return undefined;
  return {
    endpoint: tracing.endpoint ?? DEFAULT_TRACING_ENDPOINT,
    samplingRatePerMillion: tracing.samplingRatePerMillion ?? 0,
    resource: { 'service.name': 'kubelet', 'host.name': nodeName },
    scope: 'nodelet',
  };
}

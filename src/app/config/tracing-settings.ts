import { DEFAULT_TRACING_ENDPOINT, type TracingSettings } from '../../observability/tracing/start-tracing.ts';
import type { TracingConfiguration } from './generated/kubelet-configuration.ts';
import type { KubeletSettings } from './load-config.ts';
import { environmentResource, type TraceEnvironment, type TraceTarget } from './trace-environment.ts';

/** The instrumentation scope of spans that kubelet does not have. */
const SCOPE = 'nodelet';

/** The traces of kubelet, with its resource attributes; `undefined` without `tracing` in the configuration. */
export function kubeletTracing(
  { config: { tracing }, nodeName }: Pick<KubeletSettings, 'config' | 'nodeName'>,
  env: TraceEnvironment,
): TracingSettings | undefined {
  if (tracing === undefined) return undefined;
  const resource = { ...environmentResource(env), 'service.name': 'kubelet', 'host.name': nodeName };
  return { ...traceTarget(tracing), resource, scope: SCOPE };
}

/** The traces of `nodelet cri`. */
export function runtimeTracing(
  target: TraceTarget | undefined,
  { version, hostname }: { readonly version: string; readonly hostname: string },
  env: TraceEnvironment,
): TracingSettings | undefined {
  if (target === undefined) return undefined;
  const own = { 'service.name': 'nodelet-cri', 'service.version': version, 'host.name': hostname };
  return { ...target, resource: { ...own, ...environmentResource(env) }, scope: SCOPE };
}

/** kubelet's defaults: a collector on this machine, and no traces but those that others began. */
export function traceTarget({ endpoint, samplingRatePerMillion }: TracingConfiguration): TraceTarget {
  return { endpoint: endpoint ?? DEFAULT_TRACING_ENDPOINT, samplingRatePerMillion: samplingRatePerMillion ?? 0 };
}

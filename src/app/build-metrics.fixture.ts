import { silentLog } from '../base/log.ts';
import type { Declaration } from '../base/metrics/declaration.ts';
import { UnhandledErrors } from '../base/unhandled-errors.ts';
import { ScriptedAgent } from '../cli/fake/scripted-agent.ts';
import { createMemoryHost } from '../host/fake/memory-host.ts';
import { buildMetrics } from './build-metrics.ts';
import { HEALTHY } from './config/healthy-config.fixture.ts';

/** All metrics of an agent that renews both of its certificates. */
export function declaredMetrics(): readonly Declaration[] {
  const host = createMemoryHost();
  const unhandled = new UnhandledErrors({ clock: host.clock, log: silentLog });
  const config = { ...HEALTHY, rotateCertificates: true, serverTLSBootstrap: true };
  const metrics = buildMetrics({ nodeName: 'box', featureGates: new Map(), config }, { host, unhandled });
  metrics.follow(new ScriptedAgent());
  metrics.close();
  return metrics.declared;
}

import type { Log } from '../base/log.ts';
import type { AgentView } from '../kubelet/explain/agent-view.ts';

/** Writes what the agent tells about pods and manifests to the log, for who has no screen to look at. */
export function logAgentEvents(view: Pick<AgentView, 'subscribe'>, log: Log): () => void {
  return view.subscribe((event) => {
    if (event.kind === 'manifest') {
      for (const problem of event.report.errors) {
        log.error('cannot use manifest', { source: event.report.source, problem });
      }
    } else if (event.kind === 'event') {
      const { namespace, name } = event.pod.metadata;
      const { type, reason, message } = event.event;
      log[type === 'Warning' ? 'warn' : 'info']('pod event', { pod: `${namespace}/${name}`, reason, message });
    }
  });
}

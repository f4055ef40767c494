import type { Log } from '../base/log.ts';
import type { AgentView } from '../kubelet/explain/agent-view.ts';

/** Logs pod events and unusable manifests. Returns the function that stops it. */
export function logAgentEvents(view: Pick<AgentView, 'subscribe'>, log: Log): () => void {
  return view.subscribe((event) => {
    if (event.kind === 'manifest') {
      for (const error of event.report.errors) {
        log.error('cannot use manifest', { source: event.report.source, error });
      }
    } else if (event.kind === 'event') {
      const { namespace, name } = event.pod.metadata;
      const { type, reason, message } = event.event;
      log[type === 'Warning' ? 'warn' : 'info']('pod event', { pod: `${namespace}/${name}`, reason, message });
    }
  });
}

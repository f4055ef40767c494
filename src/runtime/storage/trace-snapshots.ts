import { traceWork, type WorkFacts } from '../../base/trace-work.ts';
import type { Snapshotter } from './snapshotter.ts';

/** The snapshotter with spans. */
export function traceSnapshots(snapshots: Snapshotter): Snapshotter {
  const { driver } = snapshots;
  const facts = (more: WorkFacts): WorkFacts => ({ 'snapshotter.name': driver, ...more });
  return {
    driver,
    mount: (container, signal) => {
      const { containerId, imageId } = container;
      const mounted = facts({ 'container.id': containerId, 'image.id': imageId });
      return traceWork(
        () => ({ name: 'snapshotter.mount', facts: mounted }),
        () => snapshots.mount(container, signal),
      );
    },
    mountImage: (view, signal) =>
      traceWork(
        () => ({ name: 'snapshotter.mount_image', facts: facts({ 'image.id': view.imageId }) }),
        () => snapshots.mountImage(view, signal),
      ),
    unmount: (target) =>
      traceWork(
        () => ({ name: 'snapshotter.unmount', facts: facts({ target }) }),
        () => snapshots.unmount(target),
      ),
    remove: (containerId) =>
      traceWork(
        () => ({ name: 'snapshotter.remove', facts: facts({ 'container.id': containerId }) }),
        () => snapshots.remove(containerId),
      ),
    usage: (containerId) => snapshots.usage(containerId),
    list: () => snapshots.list(),
  };
}

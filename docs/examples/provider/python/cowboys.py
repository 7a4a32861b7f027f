"""The provider of docs/write-a-provider.md in Python, on kopf.

kopf watches all consumers of one endpoint. It keeps what it knows in annotations, and would write them to the wildcard, which is for
reading: so the handler is one for events, which keeps nothing, and writes to the workspace of the consumer itself.

Usage: kopf run --standalone --all-namespaces cowboys.py, with ENDPOINT and the KUBECONFIG of the provider.
"""

import base64
import logging
import os
import ssl

import aiohttp
import kopf

ENDPOINT = os.environ["ENDPOINT"]
user = kopf.login_with_kubeconfig()


@kopf.on.login()
def login(**_):
    return kopf.ConnectionInfo(server=f"{ENDPOINT}/clusters/*", ca_data=user.ca_data, token=user.token)


async def patch(path, body, content_type):
    """Patches in the workspace of a consumer, and returns the status code. Raises for failures other than 403."""
    context = ssl.create_default_context(cadata=base64.b64decode(user.ca_data).decode())
    headers = {"Authorization": f"Bearer {user.token}", "Content-Type": content_type}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.patch(f"{ENDPOINT}/clusters/{path}", json=body, ssl=context) as answer:
            if answer.status != 403:
                answer.raise_for_status()
            return answer.status


@kopf.on.startup()
def settings(settings, **_):
    settings.posting.enabled = False
    settings.scanning.disabled = True


@kopf.on.event("wildwest.dev", "v1alpha1", "cowboys")
async def reconcile(event, body, name, namespace, spec, status, **_):
    if event["type"] == "DELETED":
        return
    note = f"cowboy-{name}"
    if status.get("configMap") == note:
        return
    cluster = body["metadata"]["annotations"]["kcp.io/cluster"]
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": note, "namespace": namespace},
        "data": {"text": spec["text"]},
    }
    answer = await patch(
        f"{cluster}/api/v1/namespaces/{namespace}/configmaps/{note}?fieldManager=cowboys&force=true",
        config_map,
        "application/apply-patch+yaml",
    )
    # The consumer has not accepted that the provider writes config maps.
    result = {"message": "accept the claim on configmaps"} if answer == 403 else {"configMap": note}
    await patch(
        f"{cluster}/apis/wildwest.dev/v1alpha1/namespaces/{namespace}/cowboys/{name}/status",
        {"status": result},
        "application/merge-patch+json",
    )
    logging.info("%s in %s: %s", name, cluster, result)

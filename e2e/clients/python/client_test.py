"""A workspace as Python programs use it, with the package `kubernetes` at its defaults. KUBECONFIG names the workspace."""

import threading
import unittest
import uuid

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException

config.load_kube_config()


class WorkspaceTest(unittest.TestCase):
    def setUp(self):
        self.core = client.CoreV1Api()
        self.namespace = "python-" + uuid.uuid4().hex[:8]
        self.core.create_namespace({"metadata": {"name": self.namespace}})
        self.addCleanup(self.core.delete_namespace, self.namespace)

    def test_objects_through_their_lives(self):
        made = self.core.create_namespaced_config_map(
            self.namespace, {"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}}
        )
        self.assertIsNotNone(made.metadata.creation_timestamp)
        made.data["k"] = "w"
        replaced = self.core.replace_namespaced_config_map("a", self.namespace, made)
        self.assertEqual(replaced.data, {"k": "w"})
        with self.assertRaises(ApiException) as stale:
            self.core.replace_namespaced_config_map("a", self.namespace, made)
        self.assertEqual((stale.exception.status, stale.exception.reason), (409, "Conflict"))
        patched = self.core.patch_namespaced_config_map("a", self.namespace, {"data": {"m": "1"}})
        self.assertEqual(patched.data, {"k": "w", "m": "1"})
        listed = self.core.list_namespaced_config_map(self.namespace, label_selector="x=y")
        self.assertEqual([item.metadata.name for item in listed.items], ["a"])
        dry = self.core.create_namespaced_config_map(self.namespace, {"metadata": {"name": "dry"}}, dry_run="All")
        self.assertEqual(dry.metadata.name, "dry")
        self.core.delete_namespaced_config_map("a", self.namespace)
        with self.assertRaises(ApiException) as gone:
            self.core.read_namespaced_config_map("a", self.namespace)
        self.assertEqual(gone.exception.status, 404)

    def test_a_watch(self):
        start = self.core.list_namespaced_config_map(self.namespace).metadata.resource_version

        def work():
            self.core.create_namespaced_config_map(self.namespace, {"metadata": {"name": "w"}})
            self.core.patch_namespaced_config_map("w", self.namespace, {"data": {"k": "v"}})
            self.core.delete_namespaced_config_map("w", self.namespace)

        worker = threading.Thread(target=work)
        worker.start()
        seen = []
        for event in watch.Watch().stream(
            self.core.list_namespaced_config_map, self.namespace, resource_version=start, timeout_seconds=20
        ):
            if event["object"].metadata.name != "w":
                continue
            seen.append(event["type"])
            if event["type"] == "DELETED":
                break
        worker.join()
        self.assertEqual(seen, ["ADDED", "MODIFIED", "DELETED"])

    def test_custom_resources_and_the_dynamic_client(self):
        group = "python.example.com"
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things." + group},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": "things", "kind": "Thing"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "subresources": {"status": {}},
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {
                                    "spec": {
                                        "type": "object",
                                        "properties": {"n": {"type": "integer", "default": 1}},
                                    },
                                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                },
                            }
                        },
                    }
                ],
            },
        }
        definitions = client.ApiextensionsV1Api()
        definitions.create_custom_resource_definition(definition)
        self.addCleanup(definitions.delete_custom_resource_definition, "things." + group)
        established = watch.Watch()
        for event in established.stream(definitions.list_custom_resource_definition, timeout_seconds=20):
            conditions = event["object"].status.conditions or []
            if event["object"].metadata.name == "things." + group and any(
                c.type == "Established" and c.status == "True" for c in conditions
            ):
                established.stop()
        things = client.CustomObjectsApi()
        thing = {"apiVersion": group + "/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {}}
        made = things.create_namespaced_custom_object(group, "v1", self.namespace, "things", thing)
        self.assertEqual(made["spec"], {"n": 1})
        with self.assertRaises(ApiException) as refused:
            things.patch_namespaced_custom_object(group, "v1", self.namespace, "things", "t", {"spec": {"n": "x"}})
        self.assertEqual(refused.exception.status, 422)
        things.patch_namespaced_custom_object_status(group, "v1", self.namespace, "things", "t", {"status": {"s": 1}})
        resource = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=group + "/v1", kind="Thing")
        self.assertEqual(resource.get(name="t", namespace=self.namespace).status.s, 1)
        applied = resource.server_side_apply(
            {"apiVersion": group + "/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"n": 5}},
            name="t",
            namespace=self.namespace,
            field_manager="python",
            force_conflicts=True,
        )
        self.assertEqual(applied.spec.n, 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)

package v1

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDeepCopyObject changes all that a shallow copy would share.
func TestDeepCopyObject(t *testing.T) {
	widgets := func(text string) *WidgetList {
		return &WidgetList{
			ListMeta: metav1.ListMeta{RemainingItemCount: new(int64)},
			Items:    []Widget{{ObjectMeta: metav1.ObjectMeta{Name: text, Labels: map[string]string{"app": text}}, Spec: WidgetSpec{Notes: []string{text}}}},
		}
	}
	original := widgets("before")
	list, single := original.DeepCopyObject(), original.Items[0].DeepCopyObject()
	*original.RemainingItemCount = 7
	original.Items[0].Name, original.Items[0].Labels["app"], original.Items[0].Spec.Notes[0] = "after", "after", "after"
	require.Equal(t, widgets("before"), list)
	require.Equal(t, &widgets("before").Items[0], single)
}
